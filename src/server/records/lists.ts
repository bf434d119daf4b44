import { sql } from '../../db/database.ts';
import { targetKinds } from '../../inbox/targets.ts';
import { type SendState, states } from '../../ledger/send.ts';
import { actionStateWords, sendReasonWords, sendStateWords } from '../../ops/format.ts';
import { isParked, isPending, stateInWords } from '../../ops/target-states.ts';
import { outcomeWords } from '../../rules/explain.ts';
import { commandName } from '../../shared/command-name.ts';
import { eventTypes } from '../../shared/event-types.ts';
import { maskKey, maskNumbers, maskTarget } from '../../shared/masking.ts';
import { typedNumber } from '../../shared/phone-numbers.ts';
import { isCallId, typedThreadKey } from '../../shared/thread.ts';
import { spellingsOf } from '../../warehouse/erasure/mentions.ts';
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
function chosen({ range, view, where }: ListChoice, begin: Condition, end = begin): Condition {
  const { since, until } = endsOf(range, view);
  return allOf([
    ...(since ? [sql`${end} >= ${since}`] : []),
    ...(until ? [sql`${begin} < ${until}`] : []),
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
    count('bytes', 'Bytes', sql`octet_length(r.body)`),
  ],
  rows: (choice) => ({
    // A time range only reads its daily partitions.
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
  about: html`Whether everything that the service reports is held. Call history is compared hour by hour, so a day is complete when all its hours are proven. <a href="/coverage/hours">Hours</a> · <a href="/gaps">Gaps in the webhooks</a> · <a href="/tie-outs">Figures beside the service’s own</a>`,
  span: 'month',
  filters: [oneOf('state', 'State', { incomplete: 'not complete' }, () => sql`r.proven_hours < r.hours`)],
  columns: [
    {
      ...column('day', 'Day', sql`r.day::text`),
      link: ({ day }) => `/coverage/hours?from=${day}&to=${day}`,
    },
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
    {
      ...count('open_gaps', 'Open gaps', sql`nullif(r.open_gaps, 0)`),
      link: () => '/gaps?state=open',
    },
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

const tieOuts: ListDefinition = {
  path: '/tie-outs',
  current: '/coverage',
  title: 'Figures beside the service’s own',
  about: html`Each night the calls of the day before are counted by the service itself, by direction and status, queue, huntgroup and user. Calls that only one side has are read again; what still differs the next night is unexplained. <a href="/coverage">Coverage</a>`,
  span: 'month',
  filters: [
    {
      ...{ name: 'state', label: 'Figures', usual: 'different' },
      options: { different: 'that differ', unexplained: 'that differ, unexplained', all: 'all' },
      where: (state) =>
        state === 'all'
          ? undefined
          : state === 'unexplained'
            ? sql`r.is_unexplained`
            : sql`(r.difference <> 0 or r.explained is not null or r.is_unexplained)`,
    },
    oneOf(
      'kind',
      'By',
      { status: 'direction and status', day: 'all calls', ...named(['queue', 'huntgroup', 'user']) },
      (kind) => sql`r.kind = ${kind}`,
    ),
  ],
  columns: [
    column('day', 'Day', sql`r.local_date::text`),
    column(
      'figure',
      'Figure',
      sql`coalesce((select 'user ' || u.user_name from reporting.dim_user u where u.user_key = r.user_key), r.figure)`,
    ),
    count('theirs', 'The service'),
    count('ours', 'Held'),
    count('difference', 'Difference'),
    column('explained', 'Why', sql`coalesce(r.explained, case when r.is_unexplained then 'unexplained' end)`),
    {
      ...column('call', 'First call', sql`coalesce(r.unexplained_ids[1], r.call_ids[1])`),
      link: ({ call }) => `/calls/${call}`,
    },
    csvOnly(column('call_ids', 'Calls', sql`array_to_string(r.call_ids, ' ')`)),
    moment('compared', 'Compared', sql`r.compared_at`),
  ],
  rows: ({ range, view, where }) => {
    const { since, until } = endsOf(range, view);
    const first = since ? sql`r.local_date >= reporting.local_day(${since})` : sql`true`;
    const last = until ? sql`r.local_date <= reporting.local_day(${until} - interval '1 microsecond')` : sql`true`;
    return {
      from: sql`from reporting.trust r where ${first} and ${last} and ${allOf(where.values())}`,
      order: sql`order by r.local_date desc, r.kind, r.figure`,
    };
  },
  empty: html`No figure of this time differs, or its days were not compared yet: that is done in the night after a day, once its hours are <a href="/coverage">proven complete</a>.`,
};

const hours: ListDefinition = {
  path: '/coverage/hours',
  current: '/coverage',
  title: 'Coverage by hour',
  about: html`Each hour of call history that is compared with the service: minutes after its end, and again for late changes. <a href="/coverage">Days</a>`,
  span: 'day',
  filters: [
    oneOf('state', 'State', named(['waiting', 'proven', 'differs', 'failed']), (state) => sql`r.state = ${state}`),
  ],
  columns: [
    moment('from', 'From', sql`r.from_at`),
    column('state', 'State'),
    count('reported_count', 'Calls reported'),
    count('held_count', 'Held'),
    count('unannounced_count', 'Not announced'),
    moment('checked', 'Compared', sql`r.checked_at`),
    moment('next', 'Next', sql`nullif(r.due_at, 'infinity')`),
    words('last_error', 'Why'),
  ],
  rows: (choice) => ({
    from: sql`from ops.coverage r where r.stream = 'calls' and ${chosen(choice, sql`r.from_at`)}`,
    order: sql`order by r.from_at desc`,
  }),
  empty: html`No hour of this time was compared yet. The workers compare each hour some minutes after its end.`,
};

const gaps: ListDefinition = {
  path: '/gaps',
  current: '/coverage',
  title: 'Gaps in the webhooks',
  about: html`Times in which deliveries may have been lost. What happened then is searched through the API, so a filled gap lost nothing but time.`,
  span: 'all',
  filters: [
    oneOf('state', 'State', { open: 'open', filled: 'filled' }, (state) =>
      state === 'open' ? sql`r.filled_at is null` : sql`r.filled_at is not null`,
    ),
    oneOf('stream', 'Of', named(['calls', 'texts']), (stream) => sql`r.stream = ${stream}`),
  ],
  columns: [
    csvOnly(count('gap_id', 'Gap')),
    column('stream', 'Of'),
    moment('from', 'From', sql`r.from_at`),
    moment('to', 'To', sql`r.to_at`),
    words('reason', 'Why deliveries may be lost'),
    moment('filled', 'Filled', sql`r.filled_at`),
    moment('next', 'Next search', sql`case when r.filled_at is null then r.next_try_at end`),
    words('last_error', 'Why not filled'),
  ],
  rows: (choice) => ({
    from: sql`from ops.gaps r where ${chosen(choice, sql`r.from_at`, sql`r.to_at`)}`,
    order: sql`order by r.gap_id desc`,
  }),
  empty: html`No gap was noticed: no webhook subscription was broken and the receiver was never away for long. <a class="link" href="/coverage">Coverage</a>`,
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
  about: html`Each text of the rules that was applied, and each rules file that was refused. The newest that was not refused is in force for all workers; RULES_MODE limits its mode. <a href="/rules/edit">Edit the rules</a> · <a href="/rules">What they did</a>`,
  span: 'all',
  filters: [],
  columns: [
    { ...column('version', 'Version'), link: ({ version }) => `/rules/history/${version}` },
    moment('applied', 'Applied', sql`r.applied_at`),
    column(
      'state',
      'State',
      sql`case when r.problem is not null then 'refused'
        when r.version = (select max(version) from ops.rule_versions where problem is null) then 'in force' else 'earlier' end`,
    ),
    column('applied_by', 'By'),
    column('mode', 'Mode'),
    count('rules', 'Rules', sql`jsonb_array_length(r.rules)`),
    words('why', 'Why', sql`coalesce(split_part(r.problem, E'\n', 1), r.why)`),
  ],
  rows: (choice) => ({
    from: sql`from ops.rule_versions r where ${chosen(choice, sql`r.applied_at`)}`,
    order: sql`order by r.version desc`,
  }),
  empty: html`No rules were applied yet: <a href="/rules/edit">write the first ones</a>.`,
};

export const lists: readonly ListDefinition[] = [
  deliveries,
  targets,
  coverage,
  tieOuts,
  hours,
  gaps,
  sends,
  runs,
  versions,
];
