import type { Account, AccountText } from './account.ts';
import { type Fact, factsOf, reachedOf } from './calls.ts';
import { beginOf, dateAfter, dateAt, hour, isOpen, openSeconds, type Schedule, wallAt } from './clock.ts';
import { grouped, percent, percentile, type Report, type Row } from './rows.ts';
import { reachedBy, sentTexts } from './texts.ts';

/** How missed calls were returned, and who calls again, as the comments of `missed_calls` and `repeat_callers` define it. */

interface Returned {
  readonly call: Fact;
  readonly by: string | null;
  readonly at: number | null;
  readonly callId: string | null;
  readonly textedAt: number | null;
  readonly ruleTextedAt: number | null;
  readonly isReturned: boolean;
  /** When somebody spoke with the caller at last. */
  readonly reachedAt: number | null;
}

/** A text without a known sender may have come from a person; nobody can tell. */
export function kindOfText({ isOfRule, message }: AccountText): string {
  if (isOfRule) return 'automatic_text';
  return message.sentBy === undefined ? 'text_by_unknown' : 'text';
}

export const isOfPerson = (by: string) => by !== 'automatic_text' && by !== 'text_by_unknown';

const missedOutcomes = ['voicemail', 'short_abandoned', 'abandoned', 'missed'];
const minute = 60_000;

function returnedCalls(account: Account): Returned[] {
  const facts = factsOf(account);
  return facts
    .filter(({ direction, isInternal, outcome, externalNumber }) => {
      return direction === 'inbound' && !isInternal && externalNumber !== null && missedOutcomes.includes(outcome);
    })
    .map((call) => ({ ...returnOf(account, facts, call), reachedAt: reachedAt(account, facts, call) }));
}

function reachedAt({ definitions }: Account, facts: readonly Fact[], call: Fact): number | null {
  const talks = facts.filter(({ id, status, at, externalNumber }) => {
    const isTheirs = externalNumber === call.externalNumber && at <= call.at + definitions.callbackWindow;
    return status === 'answered' && at > call.at && (isTheirs || id === call.calledBack);
  });
  return talks.length > 0 ? Math.min(...talks.map(({ at }) => at)) : null;
}

/** By the day of the return: the day of the call, or the first business day after it. */
function isWithinBusinessDay(from: number, to: number, { zone, hours, holidays }: Schedule): boolean {
  let date = dateAfter(dateAt(from, zone), 1);
  const isOpenOn = (day: string) =>
    !holidays.includes(day) &&
    hours.some(({ isodow }) => isodow === wallAt(beginOf(day, zone) + 12 * hour, zone).isodow);
  while (!isOpenOn(date)) date = dateAfter(date, 1);
  return dateAt(to, zone) <= date;
}

function returnedWithin({ call, at }: Returned, schedule: Schedule): string | null {
  if (at === null) return null;
  if (at - call.at <= hour) return '1 hour';
  if (at - call.at <= 4 * hour) return '4 hours';
  return isWithinBusinessDay(call.at, at, schedule) ? '1 business day' : 'later';
}

function returnOf(account: Account, facts: readonly Fact[], call: Fact): Omit<Returned, 'reachedAt'> {
  const isInWindow = (at: number) => at > call.at && at <= call.at + account.definitions.callbackWindow;
  const calls = facts.filter((other) => other.externalNumber === call.externalNumber && isInWindow(other.at));
  const texts = sentTexts(account).filter((text) => {
    return reachedBy(text).includes(call.externalNumber ?? '') && isInWindow(text.message.sentAt);
  });
  const firstText = (...kinds: string[]) => {
    const times = texts.filter((text) => kinds.includes(kindOfText(text))).map(({ message }) => message.sentAt);
    return times.length > 0 ? Math.min(...times) : null;
  };
  const found = {
    call,
    textedAt: firstText('automatic_text', 'text_by_unknown'),
    ruleTextedAt: firstText('automatic_text'),
  };
  if (call.calledBack) {
    const at = facts.find(({ id }) => id === call.calledBack)?.at ?? null;
    return { ...found, by: 'called_back', at, callId: call.calledBack, isReturned: true };
  }
  const contacts = [
    ...calls.filter(({ direction }) => direction === 'outbound').map(({ at, id }) => ({ at, by: 'outbound_call', id })),
    ...calls
      .filter(({ direction, outcome }) => direction === 'inbound' && outcome === 'answered')
      .map(({ at, id }) => ({ at, by: 'caller_got_through', id })),
    ...texts.map((text) => ({ at: text.message.sentAt, by: kindOfText(text), id: null })),
  ].toSorted((one, other) => one.at - other.at);
  const first = contacts.find(({ by }) => isOfPerson(by));
  if (first) return { ...found, by: first.by, at: first.at, callId: first.id, isReturned: true };
  return { ...found, by: contacts[0]?.by ?? null, at: null, callId: null, isReturned: false };
}

export function returnReports(account: Account, now: number): Report[] {
  const { timeZone: zone, schedule } = account.definitions;
  const missed = returnedCalls(account);
  // The service may name a call that had begun before.
  const businessMinutes = ({ call, at }: Returned) => {
    if (at === null) return null;
    const seconds = Math.max(0, openSeconds(call.at, at, schedule));
    return seconds > 0 || isOpen(call.at, schedule) || isOpen(at, schedule) ? seconds / 60 : null;
  };
  const instant = (at: number | null) => (at === null ? null : new Date(at));
  const minutes = ({ call, at }: Returned) => (at === null ? null : (at - call.at) / minute);
  const rowOf = (each: Returned): Row => ({
    ...{ call_id: each.call.id, started_at: new Date(each.call.at), local_date: dateAt(each.call.at, zone) },
    ...{ external_number: each.call.externalNumber, caller_name: each.call.caller.name },
    ...{ account_number: each.call.accountNumber, returned_by: each.by, returned_at: instant(each.at) },
    ...{ minutes_to_return: minutes(each), is_unreturned: !each.isReturned },
  });
  const days = grouped(missed, ({ call }) => [dateAt(call.at, zone), call.accountNumber]);
  return [
    {
      view: 'reporting.missed_calls',
      key: ['call_id'],
      rows: missed.map((each) => ({
        ...{ ...rowOf(each), outcome: each.call.outcome, wait_seconds: each.call.wait },
        ...{
          called_back_call_id: each.call.calledBack,
          returned_call_id: each.callId,
          texted_at: instant(each.textedAt),
          rule_texted_at: instant(each.ruleTextedAt),
        },
        business_minutes_to_return: businessMinutes(each),
        ...{ returned_within: returnedWithin(each, schedule), reached_at: instant(each.reachedAt) },
        ...{ reached: reachedOf(each.call), is_business_hours: isOpen(each.call.at, schedule) },
      })),
      // Worked out by hand in reasons.test.ts.
      beside: ['reason', 'queue_key', 'is_message_left', 'message_seconds'],
      rounded: { minutes_to_return: 0.05, business_minutes_to_return: 0.05 },
    },
    {
      view: 'reporting.callbacks',
      key: ['local_date', 'account_number'],
      rows: days.map(({ key: [date, number], items }) => {
        const by = (way: string) => items.filter((each) => each.by === way).length;
        const returned = items.filter(({ isReturned }) => isReturned).length;
        const times = items.flatMap((each) => minutes(each) ?? []);
        const of = (outcome: string) => items.filter(({ call }) => call.outcome === outcome).length;
        const within = (...spans: string[]) =>
          items.filter((each) => spans.includes(returnedWithin(each, schedule) ?? '')).length;
        const reached = items.filter(({ reachedAt }) => reachedAt !== null).length;
        return {
          ...{ local_date: date, account_number: number, missed_count: items.length, voicemail_count: of('voicemail') },
          ...{
            short_abandoned_count: of('short_abandoned'),
            returned_count: returned,
            called_back_count: by('called_back'),
          },
          ...{ outbound_call_count: by('outbound_call'), caller_got_through_count: by('caller_got_through') },
          ...{ text_count: by('text'), unreturned_count: items.length - returned },
          ...{ return_rate_pct: percent(returned, items.length), automatic_text_count: by('automatic_text') },
          ...{ text_by_unknown_count: by('text_by_unknown'), return_time_count: times.length },
          rule_texted_count: items.filter(({ ruleTextedAt }) => ruleTextedAt !== null).length,
          business_return_count: items.flatMap((each) => businessMinutes(each) ?? []).length,
          ...{ reached_count: reached, tried_count: returned - reached, within_1_hour_count: within('1 hour') },
          within_4_hours_count: within('1 hour', '4 hours'),
          within_business_day_count: within('1 hour', '4 hours', '1 business day'),
          minutes_to_return_p50: percentile(0.5, times),
          business_minutes_to_return_p50: percentile(
            0.5,
            items.flatMap((each) => businessMinutes(each) ?? []),
          ),
        };
      }),
      rounded: { minutes_to_return_p50: 0.05, business_minutes_to_return_p50: 0.05 },
    },
    {
      view: 'reporting.voicemails',
      key: ['call_id'],
      rows: missed
        .filter(({ call }) => call.outcome === 'voicemail')
        .map((each) => {
          const held = account.calls.get(each.call.id);
          const [transcript] = (held?.isWhole ? held.transcripts : []).toSorted((one, other) => one.id - other.id);
          return {
            ...{ ...rowOf(each), transcript_id: transcript?.id ?? null, short_summary: null },
            call_sentiment: transcript?.callSentiment ?? null,
            is_action_required: transcript?.actionRequired ?? null,
          };
        }),
      rounded: { minutes_to_return: 0.05 },
    },
    repeatCallers(account, now),
  ];
}

/** Who called twice or more today and on the six local days before. */
function repeatCallers(account: Account, now: number): Report {
  const { timeZone: zone } = account.definitions;
  const from = beginOf(dateAfter(dateAt(now, zone), -6), zone);
  const recent = factsOf(account).filter(({ direction, isInternal, at, externalNumber }) => {
    return direction === 'inbound' && !isInternal && externalNumber !== null && at >= from;
  });
  const callers = grouped(recent, ({ externalNumber }) => [externalNumber ?? '']).filter(
    ({ items }) => items.length > 1,
  );
  return {
    view: 'reporting.repeat_callers',
    key: ['external_number'],
    rows: callers.map(({ key: [external_number], items }) => {
      const times = items.map(({ at }) => at);
      const last = items.find(({ at }) => at === Math.max(...times));
      const answered = items.filter(({ outcome }) => outcome === 'answered').length;
      return {
        ...{
          external_number,
          caller_name: last?.caller.name ?? null,
          inbound_count: items.length,
          answered_count: answered,
        },
        unanswered_count: items.length - answered,
        active_day_count: new Set(times.map((at) => dateAt(at, zone))).size,
        first_call_at: new Date(Math.min(...times)),
        last_call_at: new Date(Math.max(...times)),
      };
    }),
  };
}
