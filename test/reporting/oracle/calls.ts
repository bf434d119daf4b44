import type { Call, Endpoint, Leg } from '../../../src/sandbox/account.ts';
import type { Account, AccountCall, Definitions } from './account.ts';
import { dateAt, isOpen, quarterOf, second, wallAt } from './clock.ts';
import { grouped, percent, quotient, type Report, type Row, total } from './rows.ts';

/** Calls, as `docs/reporting.md` and the comments of `fct_call` and the daily views define them. */

export type Outcome = 'answered' | 'voicemail' | 'short_abandoned' | 'abandoned' | 'missed' | 'unknown';

/** A call as a report may know it. */
export interface Fact {
  readonly id: string;
  readonly at: number;
  readonly direction: 'inbound' | 'outbound';
  readonly isInternal: boolean;
  readonly status: string;
  readonly outcome: Outcome;
  readonly externalNumber: string | null;
  readonly accountNumber: string | null;
  readonly caller: Endpoint;
  readonly called: Endpoint;
  readonly duration: number;
  readonly talk: number;
  readonly wait: number | null;
  readonly waitBasis: 'legs' | 'duration_minus_talk' | 'unknown';
  readonly transfers: number;
  readonly isRecorded: boolean;
  readonly calledBack: string | null;
  readonly repeated: number;
  /** Empty where the call was not read whole. */
  readonly legs: readonly Leg[];
  readonly isWhole: boolean;
  readonly isOfErased: boolean;
  /** As the service shows it. */
  readonly call: Call;
}

export const isGroup = ({ type }: Endpoint) => type === 'queue' || type === 'huntgroup';

export const isPerson = ({ to }: Leg) => to.type === 'user' || to.type === 'external';

/** Digits with a country code; null for what is shorter than any number of the public network. */
export function fullNumber(text: string): string | null {
  const digits = text.replace(/\D/g, '');
  if (digits.length < 7) return null;
  return digits.length === 10 ? `1${digits}` : digits;
}

export function factsOf(account: Account): Fact[] {
  return [...account.calls.values()].map((each) => factOf(account, each));
}

function factOf({ definitions, erased }: Account, { call, isWhole }: AccountCall): Fact {
  const { direction, status, caller, called, duration, talk } = call;
  const isInternal = caller.type !== 'external' && called.type !== 'external';
  const isInbound = direction === 'inbound';
  const outside = fullNumber(isInbound ? caller.number : called.number);
  const isOfErased = outside !== null && erased.has(outside);
  const legs = isWhole ? call.legs : [];
  const { wait, waitBasis } = waitOf(call, legs);
  const isShort = wait !== null && wait <= definitions.shortAbandonSeconds;
  const hasGivenUp = isInbound && call.abandoned;
  return {
    ...{
      id: call.id,
      at: call.start * second,
      direction,
      isInternal,
      status,
      duration,
      talk,
      wait,
      waitBasis,
      legs,
      isWhole,
      isOfErased,
    },
    ...{ caller, called, transfers: call.transfers, isRecorded: call.recorded, repeated: call.repeated },
    outcome:
      status === 'answered' || status === 'voicemail'
        ? status
        : hasGivenUp
          ? isShort
            ? 'short_abandoned'
            : 'abandoned'
          : status === 'missed'
            ? 'missed'
            : 'unknown',
    externalNumber: isInternal || isOfErased ? null : outside,
    accountNumber: isInternal ? null : fullNumber(isInbound ? call.dialled : call.callerIdExternal),
    calledBack: call.calledBack ?? null,
    call,
  };
}

/** Of inbound calls by their legs. Without legs, or by a single one to a person that does not tell, what is left of the talk. */
function waitOf(
  { direction, status, called, duration, talk }: Call,
  legs: readonly Leg[],
): Pick<Fact, 'wait' | 'waitBasis'> {
  if (direction === 'inbound' && legs.length > 0) {
    const wait = waitByLegs(status, legs, duration);
    if (wait !== null) return { wait, waitBasis: 'legs' };
    if (legs.length > 1 || isGroup(called)) return { wait: null, waitBasis: 'unknown' };
  }
  return { wait: duration - talk, waitBasis: 'duration_minus_talk' };
}

/**
 * From the entry of the first queue or huntgroup, else from the start, until the first answered leg was connected, the mailbox
 * answered or the caller gave up.
 */
function waitByLegs(status: Call['status'], legs: readonly Leg[], duration: number): number | null {
  const untils = {
    answered: legs.find(({ to, talkSeconds }) => (to.type === 'user' || to.type === 'external') && talkSeconds > 0),
    // The service has no word for a mailbox among those of its legs: it is where the call ended.
    voicemail: legs.at(-1),
  };
  if (status === 'unknown') return null;
  const leg = status === 'missed' ? undefined : untils[status];
  if (!leg && status !== 'missed') return null;
  const until = leg ? leg.offset + leg.ringSeconds : duration;
  const entered = legs.find(({ to, offset }) => isGroup(to) && offset <= until);
  return until - (entered?.offset ?? 0);
}

/** The counts that every daily view of calls ends with. */
function countsOf(calls: readonly Fact[], serviceLevelSeconds: number) {
  const of = (outcome: Outcome) => calls.filter((call) => call.outcome === outcome).length;
  const answered = calls.filter(({ outcome }) => outcome === 'answered');
  const waits = answered.flatMap(({ direction, wait }) => (direction === 'inbound' && wait !== null ? [wait] : []));
  const known = calls.flatMap(({ wait }) => (wait === null ? [] : [wait]));
  return {
    call_count: calls.length,
    answered_count: answered.length,
    voicemail_count: of('voicemail'),
    abandoned_count: of('abandoned'),
    short_abandoned_count: of('short_abandoned'),
    missed_count: of('missed'),
    unknown_count: of('unknown'),
    answered_in_time_count: waits.filter((wait) => wait <= serviceLevelSeconds).length,
    talk_seconds: total(answered.map(({ talk }) => talk)),
    talk_count: answered.length,
    duration_seconds: total(calls.map(({ duration }) => duration)),
    answer_wait_seconds: total(waits),
    answer_wait_count: waits.length,
    longest_wait_seconds: known.length > 0 ? Math.max(...known) : null,
    transferred_count: calls.filter(({ transfers }) => transfers > 0).length,
    recorded_count: calls.filter(({ isRecorded }) => isRecorded).length,
    called_back_count: calls.filter(({ calledBack }) => calledBack !== null).length,
    repeated_count: calls.filter(({ repeated }) => repeated > 0).length,
  };
}

function ratesOf(direction: string, counts: ReturnType<typeof countsOf>) {
  const { call_count: all, answered_count: answered, answer_wait_count: waited, abandoned_count: abandoned } = counts;
  const withoutShort = all - counts.short_abandoned_count;
  const isInbound = direction === 'inbound';
  const inTime = counts.answered_in_time_count;
  return {
    answerable_count: withoutShort,
    answer_rate_pct: percent(answered, all),
    answer_rate_without_short_pct: percent(answered, withoutShort),
    abandon_rate_pct: isInbound ? percent(abandoned, withoutShort) : null,
    service_level_pct: isInbound ? percent(inTime, withoutShort - (answered - waited)) : null,
    service_level_answered_abandoned_pct: isInbound ? percent(inTime, waited + abandoned) : null,
    service_level_answered_pct: isInbound ? percent(inTime, waited) : null,
    answer_wait_avg_seconds: quotient(counts.answer_wait_seconds, waited, 10),
    talk_avg_seconds: quotient(counts.talk_seconds, counts.talk_count, 10),
    transfer_rate_pct: percent(counts.transferred_count, answered),
    answer_wait_unknown_count: isInbound ? answered - waited : 0,
  };
}

/** Whether any leg names a user, queue or huntgroup of the account. */
export function isToldByLegs({ legs }: Fact): boolean {
  return legs.some(({ from, to }) => [from, to].some((end) => end.type === 'user' || isGroup(end)));
}

/** The queues and huntgroups that a call entered: by its legs, or where these name nobody, by its called end. */
export function groupsOf(fact: Fact): { kind: string; endpoint: string }[] {
  const { legs, called } = fact;
  const entered = (isToldByLegs(fact) ? legs.map(({ to }) => to) : [called]).filter(isGroup);
  const names = new Map(entered.map((each) => [`${each.type} ${each.number || each.name}`, each]));
  return [...names.values()].map(({ type, number, name }) => ({ kind: type, endpoint: number || name }));
}

/** How far the caller of an abandoned call had come. */
function abandonedIn(fact: Fact): string | null {
  const { legs, outcome, called } = fact;
  const isMenuAlone = legs.length > 0 && legs.every(({ to }) => to.type === 'ivr');
  if (outcome === 'missed' && fact.direction === 'inbound' && isMenuAlone) return 'menu';
  if (outcome !== 'abandoned' && outcome !== 'short_abandoned') return null;
  const answer = legs.findIndex((leg) => isPerson(leg) && leg.outcome === 'answer');
  const before = answer < 0 ? legs : legs.slice(0, answer + 1);
  if (before.some(({ to }) => isGroup(to))) return 'queue';
  if (legs.length === 0) return isGroup(called) ? 'queue' : called.type === 'user' ? 'ringing' : 'unknown';
  return legs.some((leg) => isPerson(leg) || leg.to.type === 'mailbox') ? 'ringing' : 'menu';
}

/** How far the caller of an inbound call came. */
export function reachedOf(fact: Fact): string | null {
  const { legs, status, direction } = fact;
  if (direction !== 'inbound') return null;
  if (status === 'answered' || legs.some((leg) => isPerson(leg) && leg.outcome === 'answer')) return 'person';
  if (status === 'voicemail' || legs.some(({ to }) => to.type === 'mailbox')) return 'mailbox';
  if (legs.some((leg) => isPerson(leg) && !(leg.from.type === 'external' && leg.to.type === 'external'))) return 'rang';
  if (legs.some(({ from, to }) => isGroup(from) || isGroup(to))) return 'queue';
  return legs.length > 0 && legs.every(({ to }) => to.type === 'ivr') ? 'menu' : 'unknown';
}

const menuCountOf = (calls: readonly Fact[]) =>
  calls.filter((call) => ['abandoned', 'missed'].includes(call.outcome) && reachedOf(call) === 'menu').length;

/** Ways through queues, users and menus that the oracle does not follow yet. */
const notRecomputed = [
  ...['queue_key', 'huntgroup_key', 'answered_user_key', 'placed_user_key'],
  ...['ring_seconds', 'ring_basis', 'menu_seconds', 'menu_basis'],
];

export function callReports(account: Account): Report[] {
  const { timeZone: zone, serviceLevelSeconds, schedule } = account.definitions;
  const facts = factsOf(account);
  const external = facts.filter(({ isInternal }) => !isInternal);
  const dateOf = ({ at }: Fact) => dateAt(at, zone);
  const counted = (calls: readonly Fact[]) => countsOf(calls, serviceLevelSeconds);
  const rated = (direction: string, calls: readonly Fact[]) => {
    const counts = counted(calls);
    return { ...counts, ...ratesOf(direction, counts) };
  };
  const byDay = grouped(facts, (call) => [dateOf(call), call.direction]);
  const isOpenAt = ({ at }: Fact) => (isOpen(at, schedule) ? 'open' : 'closed');
  const hourOf = ({ at }: Fact) => wallAt(at, zone).hour;
  const byHour = grouped(external, (call) => [dateOf(call), hourOf(call), call.direction, isOpenAt(call)]);
  const byNumberHour = grouped(external, (call) => [
    ...[dateOf(call), hourOf(call), call.direction, isOpenAt(call)],
    call.accountNumber,
  ]);
  const byQuarter = grouped(external, (call) => [quarterOf(call.at), call.direction, isOpenAt(call)]);
  const hourRow = (date: string, hour: number, direction: string, open: string, items: readonly Fact[]): Row => {
    const { call_count, answered_count, voicemail_count, abandoned_count, short_abandoned_count, ...others } =
      counted(items);
    const { missed_count, unknown_count, answered_in_time_count, talk_seconds, answer_wait_count } = others;
    return {
      ...{ local_date: date, isodow: isodowOf(date), local_hour: hour, direction, is_business_hours: open === 'open' },
      ...{ call_count, answered_count, voicemail_count, abandoned_count, short_abandoned_count, missed_count },
      ...{ unknown_count, answered_in_time_count, talk_seconds, answerable_count: call_count - short_abandoned_count },
      answer_wait_unknown_count: direction === 'inbound' ? answered_count - answer_wait_count : 0,
      menu_count: menuCountOf(items),
    };
  };
  const byNumber = grouped(external, (call) => [dateOf(call), call.accountNumber, call.direction]);
  const entered = external.flatMap((call) => groupsOf(call).map((group) => ({ call, ...group })));
  const byGroup = grouped(entered, ({ call, kind, endpoint }) => [dateOf(call), kind, endpoint, call.direction]);
  return [
    {
      view: 'reporting.fct_call',
      key: ['call_id'],
      rows: facts.map((fact) => rowOf(fact, account.definitions)),
      beside: ['recording_count', 'transcript_count', ...notRecomputed],
    },
    {
      view: 'reporting.call_daily',
      key: ['local_date', 'direction'],
      rows: byDay.map(({ key: [date, direction], items }) => ({
        ...{ local_date: date, direction, menu_count: menuCountOf(items.filter(({ isInternal }) => !isInternal)) },
        ...rated(
          direction,
          items.filter(({ isInternal }) => !isInternal),
        ),
        internal_count: items.filter(({ isInternal }) => isInternal).length,
      })),
    },
    {
      view: 'reporting.call_heatmap',
      key: ['local_date', 'local_hour', 'direction', 'is_business_hours'],
      rows: byHour.map(({ key: [date, hour, direction, open], items }) => hourRow(date, hour, direction, open, items)),
    },
    {
      view: 'reporting.number_hourly',
      key: ['local_date', 'local_hour', 'direction', 'is_business_hours', 'account_number'],
      rows: byNumberHour.map(({ items }) => {
        const [first] = items;
        if (!first) throw new Error('a group is never empty');
        return {
          ...hourRow(dateOf(first), hourOf(first), first.direction, isOpenAt(first), items),
          account_number: first.accountNumber,
        };
      }),
    },
    {
      view: 'reporting.call_interval',
      key: ['bucket_at', 'direction', 'is_business_hours'],
      rows: byQuarter.map(({ key: [begin, direction, open], items }) => ({
        is_business_hours: open === 'open',
        ...{ bucket_at: new Date(begin), bucket_local: wallAt(begin, zone).text, direction },
        ...{ local_date: dateAt(begin, zone), local_hour: wallAt(begin, zone).hour, ...counted(items) },
      })),
    },
    {
      view: 'reporting.number_daily',
      key: ['local_date', 'account_number', 'direction'],
      rows: byNumber.map(({ key: [date, account_number, direction], items }) => ({
        ...{ local_date: date, account_number, direction },
        ...rated(direction, items),
      })),
    },
    {
      view: 'reporting.group_daily',
      key: ['local_date', 'kind', 'endpoint', 'direction'],
      rows: byGroup.map(({ key: [date, kind, endpoint, direction], items }) => ({
        ...{ local_date: date, kind, endpoint, direction },
        ...rated(
          direction,
          items.map(({ call }) => call),
        ),
      })),
    },
    transfers(facts, zone, account.erased),
  ];
}

export function isodowOf(date: string): number {
  return new Date(`${date}T12:00:00Z`).getUTCDay() || 7;
}

function rowOf(fact: Fact, { timeZone: zone, schedule }: Definitions): Row {
  const wall = wallAt(fact.at, zone);
  const { outcome, direction, wait } = fact;
  return {
    ...{ call_id: fact.id, started_at: new Date(fact.at), started_local: wall.text, local_date: wall.date },
    ...{
      local_hour: wall.hour,
      local_isodow: wall.isodow,
      direction,
      is_internal: fact.isInternal,
      status: fact.status,
    },
    ...{ abandoned_in: abandonedIn(fact), reached: reachedOf(fact) },
    ...{ outcome, external_number: fact.externalNumber, account_number: fact.accountNumber },
    ...{ duration_seconds: fact.duration, talk_seconds: fact.talk, wait_seconds: wait, wait_basis: fact.waitBasis },
    answer_wait_seconds: outcome === 'answered' && direction === 'inbound' ? wait : null,
    ...{ transferred_count: fact.transfers, is_recorded: fact.isRecorded, called_back_call_id: fact.calledBack },
    ...{ repeated_count: fact.repeated, has_legs: fact.isWhole },
    ...{ ...partiesOf(fact), is_business_hours: isOpen(fact.at, schedule) },
    leg_count: fact.isWhole ? fact.legs.length : null,
    reached_person: fact.status === 'unknown' ? null : fact.status === 'answered',
  };
}

/** The second at which the leg began, a dot, and its number. */
export function uniqueIdOf({ call }: Fact, { offset, sequence }: Leg): string {
  return `${call.start + offset}.${sequence}`;
}

/** Who called whom, without what an erasure took away. */
function partiesOf({ caller, called, direction, isOfErased, call }: Fact): Row {
  const isCallerGone = isOfErased && direction === 'inbound';
  const isCalledGone = isOfErased && direction === 'outbound';
  return {
    ...{ caller_type: caller.type, caller_name: isCallerGone ? null : caller.name },
    ...{ caller_number: isCallerGone ? null : caller.number, called_type: called.type },
    ...{ called_name: isCalledGone ? null : called.name, called_number: isCalledGone ? null : called.number },
    ...{ dialled_number: isCalledGone ? null : call.dialled, is_abandoned: call.abandoned },
    ended_at: call.hasEnd ? new Date((call.start + call.duration) * second) : null,
    answered_by_count: call.status === 'answered' ? call.answeredBy : null,
  };
}

const noLeg = {
  ...{ leg_ordinal: null, bridged_from_call_id: null, from_type: null, from_name: null, from_endpoint: null },
  ...{ to_type: null, to_name: null, to_endpoint: null, talk_seconds: null },
};

/** A row for each leg that a user passed on, and one without a leg for a transferred call that shows none. */
function transfers(facts: readonly Fact[], zone: string, erased: ReadonlySet<string>): Report {
  const shown = (endpoint: Endpoint, value: string) => {
    return endpoint.type === 'external' && erased.has(fullNumber(endpoint.number) ?? '') ? null : value;
  };
  const rows = facts
    .filter((fact) => fact.transfers > 0)
    .flatMap((fact): Row[] => {
      const call = {
        ...{
          call_id: fact.id,
          started_at: new Date(fact.at),
          local_date: dateAt(fact.at, zone),
          direction: fact.direction,
        },
        ...{
          transferred_count: fact.transfers,
          external_number: fact.externalNumber,
          account_number: fact.accountNumber,
        },
      };
      const passed = fact.legs.flatMap((leg, at): Row[] => {
        const before = fact.legs[at - 1];
        if (!before || leg.from.type !== 'user') return [];
        return [
          {
            ...{
              ...call,
              leg_ordinal: at + 1,
              from_type: 'user',
              from_name: leg.from.name,
              from_endpoint: leg.from.number,
            },
            ...{ to_type: leg.to.type, to_name: shown(leg.to, leg.to.name), to_endpoint: shown(leg.to, leg.to.number) },
            bridged_from_call_id: uniqueIdOf(fact, before),
            talk_seconds: leg.talkSeconds,
          },
        ];
      });
      return passed.length > 0 ? passed : [{ ...call, ...noLeg }];
    });
  return { view: 'reporting.transfers', key: ['call_id', 'leg_ordinal'], rows };
}
