import { sql } from '../../db/database.ts';
import { targetKinds } from '../../inbox/targets.ts';
import { type SendState, states } from '../../ledger/send.ts';
import { actionStateWords, sendReasonWords, sendStateWords } from '../../ops/format.ts';
import { isParked, isPending, stateInWords } from '../../ops/target-states.ts';
import { outcomeWords } from '../../rules/explain.ts';
import { commandName } from '../../shared/command-name.ts';
import { eventTypes } from '../../shared/event-types.ts';
import { maskKey, maskNumbers, maskTarget } from '../../shared/masking.ts';
import { spellingsOf, typedNumber } from '../../shared/phone-numbers.ts';
import { isCallId, typedThreadKey } from '../../shared/thread.ts';
import { BadAddress } from '../answering.ts';
import { html } from '../html.ts';
import { type Condition, column, count, csvOnly, otherParty, type RowColumn } from '../row-list.ts';
import { aboveRules } from './above-rules.ts';
import { aboveSends } from './above-sends.ts';
import { type ListChoice, type ListDefinition, type ListFilter, moment } from './list-page.ts';
import { endsOf, targetPath } from './view.ts';

const allOf = (conditions: Iterable<Condition>) => sql.join([sql`true`, ...conditions], sql` and `);
/** Options labelled with their value. */
const named = (values: readonly string[]) => Object.fromEntries(values.map((value) => [value, value]));

/** A filter with options, one of which is "any". */
function oneOf(name: string, label: string, options: ListFilter['options'], where: ListFilter['where']): ListFilter {
  return { name, label, options: { '': 'any', ...options }, where };
}

/** A filter with a typed value. */
function typed(name: string, label: string, placeholder: string, where: ListFilter['where']): ListFilter {
  return { name, label, placeholder, where };
}

/** The conditions of a choice: its filters, and its time range, which must overlap the start and end of a row. */
function chosen({ range, view, where }: ListChoice, moment: Condition): Condition {
  const { since, until } = endsOf(range, view);
  return allOf([
    ...(since ? [sql`${moment} >= ${since}`] : []),
    ...(until ? [sql`${moment} < ${until}`] : []),
    ...where.values(),
  ]);
}

/** Words of the service, which may contain a number. */
const words = (key: string, name: string, value?: Condition): RowColumn => ({
  ...column(key, name, value),
  isWide: true,
  show: (text) => maskNumbers(text),
});

/** `kind key` of each target that a typed call id or thread may mean. Throws `BadAddress`. */
function targetsNamed(text: string): string[] {
  if (isCallId(text)) return ['call', 'recordings', 'transcripts'].map((kind) => `${kind} ${text}`);
  const key = typedThreadKey(text);
  if (key === undefined) {
    throw new BadAddress('target must be a call id, or line/number of a thread with country codes.');
  }
  return [`thread ${key}`];
}

const deliveries: ListDefinition = {
  path: '/deliveries',
  title: 'Deliveries',
  about: html`Webhook requests as they came. A delivery only says what to read; <a href="/targets">the reads</a> bring the data.`,
  span: 'week',
  filters: [
    oneOf('type', 'Event type', { ...named(eventTypes), none: 'none in the address' }, (type) =>
      type === 'none' ? sql`r.event_type is null` : sql`r.event_type = ${type}`,
    ),
    oneOf('recognized', 'Recognized', { no: 'not recognized', yes: 'recognized' }, (value) =>
      value === 'no' ? sql`not r.is_recognized` : sql`r.is_recognized`,
    ),
    typed('target', 'Points at', 'call id or line/number', (text) => sql`r.targets && ${targetsNamed(text)}::text[]`),
  ],
  columns: [
    { ...column('delivery_id', 'Delivery'), link: ({ delivery_id: id }) => `/deliveries/${id}` },
    moment('received', 'Received', sql`r.received_at`),
    column('event_type', 'Type'),
    csvOnly(column('claimed_type', 'Type in the body')),
    {
      ...column('targets', 'Points at', sql`nullif(array_to_string(r.targets[1:100], '; '), '')`),
      isWide: true,
      show: targetsInWords,
    },
    column(
      'recognized',
      'Recognized',
      sql`case when r.is_erased then 'erased' when r.is_recognized then 'yes' when r.targets = '{}' then 'no' else 'in part' end`,
    ),
    count(
      'bytes',
      'Bytes',
      sql`coalesce((select octet_length(bytes) from secrets.bodies b where b.delivery_id = r.delivery_id), octet_length(r.body))`,
    ),
  ],
  rows: (choice) => ({
    from: sql`from ops.deliveries r where ${chosen(choice, sql`r.received_at`)}`,
    order: sql`order by r.delivery_id desc`,
  }),
  empty: html`No delivery came in this time. Deliveries show here within a second; <a href="/">the status page</a> says whether the webhooks are registered, and <code>${commandName} doctor</code> what stops them.`,
};

const shownTargets = 3;

function targetsInWords(joined: string): string {
  const targets = joined.split('; ');
  const more = targets.length - shownTargets;
  return `${targets.slice(0, shownTargets).map(maskTarget).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Each one is read through an index, however many targets there are. */
const targetStates: Readonly<Record<string, Condition>> = {
  trouble: sql`r.last_error is not null`,
  failing: sql`r.last_error is not null and ${isPending}`,
  refused: sql`r.last_error is not null and r.state <> 'active'`,
  parked: sql`${isPending} and ${isParked}`,
  pending: isPending,
};

const targets: ListDefinition = {
  path: '/targets',
  title: 'Reads',
  about: html`What is read through the API: the threads, calls and so on that <a href="/deliveries">deliveries</a> or comparisons made pending, with the error of the newest read. A failed read is retried by itself, ever less often.`,
  span: undefined,
  filters: [
    {
      name: 'state',
      label: 'State',
      usual: 'trouble',
      options: {
        trouble: 'failed or refused',
        failing: 'failed, will be retried',
        refused: 'gone or refused for good',
        parked: 'parked',
        pending: 'pending',
      },
      where: (state) => targetStates[state],
    },
    oneOf('kind', 'Kind', named(targetKinds), (kind) => sql`r.kind = ${kind}`),
    typed('target', 'Call or thread', 'call id or line/number', (text) => {
      const [first = '', ...more] = targetsNamed(text);
      const kinds = [first, ...more].map((target) => target.split(' ')[0]);
      return sql`r.kind = any(${kinds}) and r.key = ${first.slice(first.indexOf(' ') + 1)}`;
    }),
  ],
  columns: [
    column('kind', 'Kind'),
    {
      ...column('key', 'Key'),
      show: (key, { kind }) => maskKey(kind ?? '', key),
      link: ({ kind, key }) => targetPath(`${kind} ${key}`),
    },
    column('state', 'State', stateInWords),
    count('attempts', 'Failures in a row'),
    words('last_error', 'Why'),
    moment('read', 'Read', sql`r.read_at`),
    moment('next', 'Next', sql`case when ${isPending} then r.due_at end`),
    { ...column('delivery_id', 'Because of'), link: ({ delivery_id: id }) => `/deliveries/${id}` },
  ],
  rows: ({ where }) => {
    const state = where.get('state');
    const isNamed = where.has('target');
    const conditions = [...where].filter(([name]) => name !== 'state' || !isNamed);
    const isOfErrors = state === targetStates.trouble || state === targetStates.failing;
    return {
      from: sql`from ops.sync_targets r where ${allOf(conditions.map(([, condition]) => condition))}`,
      // A back-fill can leave millions pending, so these are read in index order.
      order:
        isNamed || isOfErrors
          ? sql`order by r.read_at desc nulls last, r.kind, r.key`
          : sql`order by r.priority, r.due_at, r.kind, r.key`,
    };
  },
  empty: html`No read failed or was refused. Reads that wait for their turn are <a href="/targets?state=pending">pending</a>.`,
};

/** The first and last local day of a choice. The number of days is limited. */
const maxDays = 400;
const localDay = (moment: Condition, zone: string) => sql`(${moment} at time zone ${zone})::date`;
const dayStart = (day: Condition, zone: string) => sql`(${day}::timestamp at time zone ${zone})`;

const coverage: ListDefinition = {
  path: '/coverage',
  title: 'Coverage by day',
  about: html`Whether everything that the service reports is held. Call history is compared hour by hour, so a day is complete when all its hours are proven. Times in which deliveries may have been lost are gaps: what happened then is searched through the API.`,
  span: 'month',
  filters: [oneOf('state', 'State', { incomplete: 'not complete' }, () => sql`r.proven_hours < r.hours`)],
  columns: [
    column('day', 'Day', sql`r.day::text`),
    column(
      'state',
      'State',
      sql`case when r.proven_hours >= r.hours then 'complete' when r.compared_hours = 0 then 'not compared yet' else 'not complete' end`,
    ),
    count('proven_hours', 'Hours proven'),
    count('hours', 'of'),
    count('reported_count', 'Calls reported'),
    count('held_count', 'Held'),
    count('unannounced_count', 'Not announced'),
    count('open_gaps', 'Open gaps', sql`nullif(r.open_gaps, 0)`),
    words(
      'difference',
      'Why not complete',
      sql`coalesce(r.error, case when r.proven_hours >= r.hours or r.compared_hours = 0 then null
        when r.compared_hours < r.hours then 'not every hour was compared' else 'an hour is to be compared again' end)`,
    ),
  ],
  rows: ({ range, view, where }) => {
    const { zone } = view;
    const { since, until } = endsOf(range, view);
    const oldest = sql`(select min(from_at) from ops.coverage where stream = 'calls')`;
    const last = until
      ? localDay(sql`least(now(), ${until} - interval '1 microsecond')`, zone)
      : localDay(sql`now()`, zone);
    const first = sql`greatest(${localDay(sql`coalesce(${since ?? oldest}, now())`, zone)}, ${last} - ${maxDays}::integer)`;
    const [from, to] = [dayStart(sql`day`, zone), dayStart(sql`(day::date + 1)`, zone)];
    return {
      from: sql`from (
        select day::date as day, greatest(0, floor(extract(epoch from least(now(), ${to}) - ${from}) / 3600))::integer as hours, c.*,
          (select count(*) from ops.gaps where filled_at is null and from_at < ${to} and to_at > ${from}) as open_gaps
        from generate_series(${first}::timestamp, ${last}::timestamp, interval '1 day') day
        cross join lateral (
          select count(*)::integer as compared_hours, count(*) filter (where state = 'proven')::integer as proven_hours,
            sum(reported_count) as reported_count, sum(held_count) as held_count, sum(unannounced_count) as unannounced_count,
            min(last_error) filter (where state <> 'proven') as error
          from ops.coverage where stream = 'calls' and to_at <= now() and from_at >= ${from} and from_at < ${to}
        ) c
      ) r where ${allOf(where.values())}`,
      order: sql`order by r.day desc`,
    };
  },
  empty: html`Nothing was compared yet. The workers compare each hour some minutes after its end; <code>${commandName} backfill calls</code> reads older history.`,
};

const modes = named(['live', 'dry-run']);
const ofRule = typed('rule', 'Rule', 'its name', (rule) => sql`r.rule = ${rule}`);
const ofNumber = (label: string) =>
  typed('number', label, 'a number', (text) => {
    const found = typedNumber(text, { orShortCode: true, orUnassigned: true });
    if ('problem' in found) throw new BadAddress(`number is ${found.problem}.`);
    return sql`r.number = any(${spellingsOf(found.number)})`;
  });

const sends: ListDefinition = {
  path: '/sends',
  title: 'Sends',
  about: html`The texts that <a href="/rules">rules</a> wanted to send, and what came of each. At most one request is ever sent for one; what a gate refused was not sent.`,
  span: 'all',
  filters: [
    oneOf('state', 'State', named(states), (state) =>
      // Sends with an unknown outcome have their own index.
      state === 'UNKNOWN' || state === 'NEEDS_HUMAN'
        ? sql`r.state = ${state} and r.unknown_at is not null`
        : sql`r.state = ${state}`,
    ),
    oneOf('mode', 'Mode', modes, (mode) =>
      mode === 'live'
        ? sql`r.mode = 'live' and r.reason is distinct from 'dry_run'`
        : sql`(r.mode = 'dry-run' or r.reason = 'dry_run')`,
    ),
    ofRule,
    ofNumber('To'),
  ],
  above: aboveSends,
  columns: [
    moment('planned', 'Planned', sql`r.planned_at`),
    {
      ...column('send_id', 'Send', sql`r.send_id::text`),
      show: (id) => id.slice(0, 8),
      link: ({ send_id: id }) => `/sends/${id}`,
    },
    column('rule', 'Rule'),
    ...otherParty('number', 'To'),
    column('line', 'From'),
    column('mode', 'Mode', sql`case when r.reason = 'dry_run' then 'dry-run' else r.mode end`),
    { ...column('state', 'State'), show: (state, { reason }) => sendStateWords(state as SendState, reason ?? null) },
    {
      ...words('reason', 'Why'),
      isWide: false,
      show: (reason, { state }) => maskNumbers(sendReasonWords(state as SendState, reason)),
    },
    csvOnly(count('segments', 'Segments', sql`r.units`)),
    {
      ...count('charged_usd', 'Charged $', sql`round(r.settled_micros / 1000000.0, 6)`),
      show: (amount) => String(Number(amount)),
    },
    { ...column('body', 'Text'), isText: true },
  ],
  rows: (choice) => ({
    from: sql`from ops.sends r where ${chosen(choice, sql`r.planned_at`)}`,
    order: sql`order by r.planned_at desc, r.send_id desc`,
  }),
  empty: html`No rule wanted to send a text yet. A rule with a <code>reply</code> plans a send when it matches, in <code>dry-run</code> too: <code>${commandName} rules simulate</code> shows what would happen.`,
};

/** `reply: dry_run, resolve: done`, with the states in words. */
function stepsInWords(joined: string): string {
  return joined.replace(/(\w+): (\w+)/g, (_, kind: string, state: string) => `${kind}: ${actionStateWords(state)}`);
}

const runs: ListDefinition = {
  path: '/rules',
  title: 'Rules',
  about: html`The rules of the running workers. Below them is every rule that matched a text, a call or a transcript, or was refused (too old, a limit, a stop, an error), and what it did. A rule whose condition was false is only counted: the page of the text or call says which clause it was. <a href="/sends">Sends</a> has what came of the replies.`,
  span: 'week',
  above: aboveRules,
  filters: [
    ofRule,
    oneOf(
      'result',
      'Result',
      { matched: 'matched', unmatched: 'refused', failed: 'failed', step_failed: 'a step failed' },
      (result) =>
        ({
          matched: sql`r.is_matched`,
          unmatched: sql`not r.is_matched`,
          failed: sql`r.reason like 'error:%'`,
          step_failed: sql`exists (select from ops.rule_actions a where a.run_id = r.run_id and a.state = 'failed')`,
        })[result],
    ),
    oneOf('mode', 'Mode', modes, (mode) => sql`r.mode = ${mode}`),
    ofNumber('Other party'),
  ],
  columns: [
    { ...column('run_id', 'Run'), link: ({ run_id: id }) => `/rules/runs/${id}` },
    moment('evaluated', 'Evaluated', sql`r.evaluated_at`),
    column('rule', 'Rule'),
    column('trigger_kind', 'On'),
    csvOnly(column('trigger_key', 'Trigger')),
    ...otherParty('number', 'Other party'),
    csvOnly(column('line', 'Our line')),
    column('mode', 'Mode'),
    column('matched', 'Matched', sql`case when r.is_matched then 'yes' else 'no' end`),
    {
      ...column('reason', 'Why not', sql`case when not r.is_matched then r.reason end`),
      show: (reason, { trigger_kind: on }) => maskNumbers(outcomeWords(reason, on ?? '')),
    },
    { ...column('steps', 'Steps', sql`steps.words`), isWide: true, show: stepsInWords },
  ],
  rows: (choice) => ({
    from: sql`from ops.rule_runs r where ${chosen(choice, sql`r.evaluated_at`)}`,
    order: sql`order by r.evaluated_at desc, r.run_id desc`,
    joins: sql`left join lateral (
      select string_agg(concat_ws(' ', a.kind, a.target) || ': ' || a.state, ', ' order by a.ordinal) as words from ops.rule_actions a where a.run_id = r.run_id
    ) steps on true`,
  }),
  empty: html`No rule matched or was refused in this time. Rules wait for new texts and calls: <code>${commandName} rules list</code> shows those in force, <code>${commandName} rules simulate</code> tries others on the past.`,
};

const versions: ListDefinition = {
  path: '/rules/history',
  current: '/rules',
  title: 'Versions of the rules',
  about: html`Each text of the rules that was applied. The newest is in force for all workers. <a href="/rules/edit">Edit the rules</a> · <a href="/rules">What they did</a>`,
  span: 'all',
  filters: [],
  columns: [
    { ...column('version', 'Version'), link: ({ version }) => `/rules/history/${version}` },
    moment('applied', 'Applied', sql`r.applied_at`),
    column(
      'state',
      'State',
      sql`case when r.version = (select max(version) from ops.rule_versions) then 'in force' else 'earlier' end`,
    ),
    column('applied_by', 'By'),
    count('rules', 'Rules', sql`jsonb_array_length(r.rules)`),
    words('why', 'Why'),
  ],
  rows: (choice) => ({
    from: sql`from ops.rule_versions r where ${chosen(choice, sql`r.applied_at`)}`,
    order: sql`order by r.version desc`,
  }),
  empty: html`No rules were applied yet: <a href="/rules/edit">write the first ones</a>.`,
};

export const lists: readonly ListDefinition[] = [deliveries, targets, coverage, sends, runs, versions];
