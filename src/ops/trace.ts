import type { RawBuilder } from 'kysely';
import { type Database, query, relation, sql } from '../db/database.ts';
import { readTargetStates, type TargetState } from '../inbox/target-states.ts';
import { maskedTarget, type Target } from '../inbox/targets.ts';
import { maskNumbers, maskTarget } from '../shared/masking.ts';
import { type Thread, threadKey, threadOf } from '../shared/thread.ts';
import { momentOf } from '../warehouse/held-calls.ts';

/** What can be traced. A thread's key is `line/number[/participants]`. */
export const traceKinds = ['delivery', 'call', 'thread', 'message'] as const;
export type TraceKind = (typeof traceKinds)[number];

/** The steps in the life of an event, in order. */
export const traceSteps = ['received', 'enqueued', 'read', 'mirrored', 'rules', 'sends'] as const;

export interface TraceStep {
  readonly at: Date;
  readonly step: (typeof traceSteps)[number];
  /** The subject, such as `delivery 42`, with masked numbers. */
  readonly subject: string;
  readonly what: string;
}

/** A target that still has to be read. */
export interface PendingRead {
  /** Masked, as `kind key`. */
  readonly target: string;
  readonly dueAt: Date;
  /** Reads that failed in a row. */
  readonly attempts: number;
  readonly error: string | null;
}

export interface Trace {
  readonly steps: readonly TraceStep[];
  readonly pending: readonly PendingRead[];
  /** Something was left out, because there were more deliveries, targets or texts. */
  readonly isCut: boolean;
}

/** The scope of a trace: these deliveries, targets and texts, within these times. */
interface Scope {
  readonly deliveries: RawBuilder<unknown>;
  readonly targets: readonly Target[];
  /** A condition on `m` (warehouse.sms_messages) and `c` (warehouse.sms_conversations). */
  readonly texts: RawBuilder<unknown>;
  readonly since: Date;
  readonly until: Date;
}

/** Maximum deliveries, texts and targets, each. */
const maxOfEach = 50;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * The history of a delivery, call, thread or text, in order of time, from the tables (which only keep a target's newest
 * read). `since` sets the start; a thread's trace starts a day before its newest read or text. Undefined if nothing is
 * known.
 */
export async function trace(db: Database, kind: TraceKind, key: string, since?: Date): Promise<Trace | undefined> {
  const scopes = { delivery: ofDelivery, call: ofCall, thread: ofThread, message: ofMessage };
  const scope = await scopes[kind](db, key, since);
  if (!scope) return undefined;
  const deliveries = await readDeliveries(db, scope);
  const texts = await readTexts(db, scope);
  const calls = await readCalls(db, scope);
  const reads = await readTargets(db, scope);
  const runs = await readRuns(db, scope, [...texts, ...calls]);
  const sends = await readSends(db, runs, texts);
  const events = [...deliveries, ...texts, ...calls, ...reads.steps, ...runs, ...sends];
  if (events.length === 0 && reads.pending.length === 0) return undefined;
  const steps = events
    .map(({ at, step, subject, what }) => ({ at, step, subject, what }))
    .sort((a, b) => Number(a.at) - Number(b.at) || traceSteps.indexOf(a.step) - traceSteps.indexOf(b.step));
  const isCut = [deliveries, texts, scope.targets].some(({ length }) => length >= maxOfEach);
  return { steps, pending: reads.pending, isCut };
}

const never = sql`false`;
const forever = new Date(8.64e15);

async function ofDelivery(db: Database, id: string): Promise<Scope | undefined> {
  const [found] = await query(
    db,
    sql<{ at: Date; targets: string[]; named: string[] }>`
      select received_at as at, targets, named from ops.deliveries where delivery_id = ${id}`,
  );
  if (!found) return undefined;
  const targets = found.targets.slice(0, maxOfEach).map(targetOf);
  const threads = targets.filter(({ kind }) => kind === 'thread').map(({ key }) => threadOf(key));
  const named = found.named.slice(0, maxOfEach).map((each) => each.split(' ')[1] ?? '');
  return {
    deliveries: sql`delivery_id = ${id}`,
    targets,
    texts: sql`${isAmong(threads)} and case when ${named.length > 0}::boolean then m.message_id = any(${named}::bigint[])
      else m.changed_at >= ${found.at} end`,
    since: found.at,
    until: forever,
  };
}

/** Recordings and transcripts are rechecked for a day after the call. */
const callMs = 2 * dayMs;

async function ofCall(_db: Database, key: string, since?: Date): Promise<Scope> {
  const targets = (['call', 'recordings', 'transcripts'] as const).map((kind) => ({ kind, key }));
  const from = since ?? new Date(momentOf(key).getTime() - hourMs);
  const window = { since: from, until: new Date(momentOf(key).getTime() + callMs) };
  return { deliveries: pointingAt(targets, window), targets, texts: never, ...window };
}

async function ofThread(db: Database, key: string, since?: Date): Promise<Scope | undefined> {
  const thread = threadOf(key);
  const [newest] = await query(
    db,
    sql<{ at: Date | null }>`select greatest(
       (select greatest(last_message_at, changed_at) from warehouse.sms_conversations c where ${isAmong([thread])}),
       (select greatest(read_at, enqueued_at) from ops.sync_targets where kind = 'thread' and key = ${key})) as at`,
  );
  if (!newest?.at) return undefined;
  const targets = [{ kind: 'thread', key } as const];
  const window = { since: since ?? new Date(newest.at.getTime() - dayMs), until: forever };
  const texts = sql`${isAmong([thread])} and greatest(m.first_seen_at, m.changed_at) >= ${window.since}`;
  return { deliveries: pointingAt(targets, window), targets, texts, ...window };
}

async function ofMessage(db: Database, id: string, since?: Date): Promise<Scope | undefined> {
  const rows = await query(
    db,
    sql<Thread & { sentAt: Date; seenAt: Date }>`
      select c.line, c.number, c.participants, least(sent_at, m.first_seen_at) as "sentAt", m.first_seen_at as "seenAt"
      from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id) where message_id = ${id}`,
  );
  const times = rows.map(({ sentAt }) => sentAt.getTime());
  const seen = rows.map(({ seenAt }) => seenAt.getTime());
  const from = since ?? new Date(rows.length > 0 ? Math.min(...times) - hourMs : Date.now() - dayMs);
  const window = { since: from, until: new Date(rows.length > 0 ? Math.max(...seen) + dayMs : Date.now()) };
  const isNamed = sql`exists (select from unnest(named) n where split_part(n, ' ', 2) = ${id})`;
  const targets = rows.map((thread) => ({ kind: 'thread', key: threadKey(thread) }) as const);
  // A delivery that names no text may have announced this one, if it arrived before the text was mirrored.
  const isBefore = sql`named = '{}' and received_at <= ${new Date(Math.max(0, ...seen))}`;
  return {
    deliveries: sql`${within(window)} and (${isNamed} or ${isBefore} and ${pointingAt(targets, window)})`,
    targets,
    texts: sql`m.message_id = ${id}`,
    ...window,
  };
}

type Window = Pick<Scope, 'since' | 'until'>;

function within({ since, until }: Window) {
  const end = until === forever ? sql`` : sql`and received_at <= ${until}`;
  return sql`received_at >= ${since} ${end}`;
}

/** Uses the index on `received_at`. There is none on targets, because it would slow down the receiver. */
function pointingAt(targets: readonly Target[], window: Window) {
  return sql`${within(window)} and targets && ${targets.map(({ kind, key }) => `${kind} ${key}`)}::text[]`;
}

function isAmong(threads: readonly Thread[]) {
  const given = relation('t', threads, {
    line: 'text',
    number: 'text',
    participants_key: ['text', ({ participants }) => participants.join(',')],
  });
  return sql`(c.line, c.number, c.participants_key) in (select t.line, t.number, t.participants_key from ${given})`;
}

function targetOf(name: string): Target {
  const [kind = '', key = ''] = name.split(/ (.*)/s, 2);
  return { kind: kind as Target['kind'], key };
}

/** The newest ones, oldest first. */
async function readDeliveries(db: Database, { deliveries }: Scope): Promise<TraceStep[]> {
  const rows = await query(
    db,
    sql<{ id: string; at: Date; type: string | null; targets: string[]; isErased: boolean }>`
      select delivery_id as id, received_at as at, event_type as type, targets, is_erased as "isErased"
      from ops.deliveries where ${deliveries} order by delivery_id desc limit ${maxOfEach}`,
  );
  return rows.reverse().map(({ id, at, type, targets, isErased }) => {
    const [first, ...more] = targets.map(maskTarget);
    const pointsAt = first === undefined ? 'points at nothing' : `points at ${first}`;
    const others = more.length > 0 ? ` and ${more.length} more` : '';
    const what = `${type ?? 'no type'}, ${isErased ? 'erased, ' : ''}${pointsAt}${others}`;
    return { at, step: 'received', subject: `delivery ${id}`, what };
  });
}

/** A step of a row that can trigger rules. */
interface RowStep extends TraceStep {
  /** The keys of its triggers. */
  readonly triggers: readonly string[];
}

interface TextStep extends RowStep {
  readonly line: string;
  readonly messageId: string;
}

async function readTexts(db: Database, { texts, since }: Scope): Promise<TextStep[]> {
  const rows = await query(
    db,
    sql<{ at: Date; line: string; messageId: string; trigger: string; what: string }>`
      with texts as (
        select m.* from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
        where ${texts} order by m.first_seen_at desc limit ${maxOfEach}
      )
      select e.at, t.line, t.message_id as "messageId", t.conversation_id || '/' || t.message_id as trigger, e.what
      from texts t cross join lateral (
        select first_seen_at, case direction when 'in' then 'inbound, new' when 'out' then 'outbound, new' else 'new' end
        union all select changed_at, 'changed' where changed_at > first_seen_at
        union all select deleted_at, 'marked deleted: ' || coalesce(deleted_reason, 'not listed') where deleted_at is not null
        union all select observed_at, 'receipt: ' || coalesce(d.delivery_status, 'no status')
          from warehouse.sms_message_delivery_events d
          where d.conversation_id = t.conversation_id and d.message_id = t.message_id
      ) e (at, what)
      where e.at >= ${since}`,
  );
  return rows.map(({ messageId, trigger, what, ...row }) => ({
    ...row,
    messageId,
    step: 'mirrored',
    subject: `message ${messageId}`,
    what: maskNumbers(what),
    triggers: [trigger],
  }));
}

async function readCalls(db: Database, { targets, since }: Scope): Promise<RowStep[]> {
  const rows = await query(
    db,
    sql<{ at: Date; subject: string; what: string; trigger: string }>`
      with asked as (select distinct key as call_id from ${relation('t', targets, { kind: 'text', key: 'text' })} where kind <> 'thread'),
      rows as (
        select 'call ' || call_id as subject, call_id as trigger, coalesce(status, 'no status') as words, first_seen_at, changed_at,
          deleted_at, deleted_reason from warehouse.calls join asked using (call_id)
        union all select 'recording ' || unique_id, '', '', first_seen_at, changed_at, deleted_at, deleted_reason
          from warehouse.recordings join asked using (call_id)
        union all select 'transcript ' || transcript_id, transcript_id::text, '', first_seen_at, changed_at, deleted_at, deleted_reason
          from warehouse.transcripts join asked using (call_id)
      )
      select e.at, subject, trigger, e.what from rows cross join lateral (
        select first_seen_at, concat_ws(', ', nullif(words, ''), 'new')
        union all select changed_at, concat_ws(', ', nullif(words, ''), 'changed') where changed_at > first_seen_at
        union all select deleted_at, 'marked deleted: ' || coalesce(deleted_reason, 'not listed') where deleted_at is not null
      ) e (at, what)
      where e.at >= ${since}`,
  );
  return rows.map(({ trigger, ...row }) => ({ ...row, step: 'mirrored', triggers: [trigger] }));
}

/** The newest job and read of each target, and the next read. */
async function readTargets(
  db: Database,
  { targets, since, until }: Scope,
): Promise<{ steps: TraceStep[]; pending: PendingRead[] }> {
  const steps: TraceStep[] = [];
  const pending: PendingRead[] = [];
  const isWithin = (at: Date | null): at is Date => at !== null && at >= since && at <= until;
  for (const target of await readTargetStates(db, targets)) {
    const { enqueuedAt, readAt, isPending, dueAt, attempts, error, deliveryId, receivedAt } = target;
    const subject = maskedTarget(target);
    const cause = deliveryId === null ? '' : ` for delivery ${deliveryId}`;
    if (isWithin(enqueuedAt)) steps.push({ at: enqueuedAt, step: 'enqueued', subject, what: `a job${cause}` });
    if (isWithin(readAt)) {
      const isAfter = receivedAt !== null && receivedAt <= readAt;
      const what = `through the API${isAfter ? cause : ''}: ${endOf(target)}`;
      steps.push({ at: readAt, step: 'read', subject, what });
    }
    if (isPending)
      pending.push({ target: subject, dueAt, attempts, error: error === null ? null : maskNumbers(error) });
  }
  return { steps, pending };
}

/** The result of the newest read. */
function endOf({ words, attempts, state, error }: TargetState): string {
  const failure = error === null ? '' : ` (${maskNumbers(error)})`;
  if (words === 'being read') return 'in progress';
  if (state !== 'active') return `${state}${failure}`;
  return attempts > 0 || error !== null ? `failed${failure}` : 'done';
}

interface RunStep extends TraceStep {
  readonly sendId: string | null;
}

/** Rule evaluations on rows of the trace with the facts they used, then the results of their actions. */
async function readRuns(db: Database, { since }: Scope, rows: readonly RowStep[]): Promise<RunStep[]> {
  const keys = [...new Set(rows.flatMap(({ triggers }) => triggers))];
  if (keys.length === 0) return [];
  const found = await query(
    db,
    sql<{
      at: Date;
      rule: string;
      what: string;
      facts: Readonly<Record<string, unknown>> | null;
      sendId: string | null;
    }>`
      with runs as (
        select * from ops.rule_runs where trigger_key = any(${keys}) and evaluated_at >= ${since}
      )
      select at, rule, what, facts, send_id as "sendId" from (
        select run_id, null::integer as ordinal, evaluated_at as at, rule, concat(trigger_kind, ', ', mode, ': ', reason) as what,
          facts, null::uuid as send_id from runs
        union all
        select run_id, a.ordinal, coalesce(a.settled_at, a.begun_at, a.due_at), rule,
          concat(concat_ws(' ', a.kind, a.target), ': ', a.state, ' (' || a.reason || ')'), null, a.send_id from runs join ops.rule_actions a using (run_id)
      ) s order by ordinal is not null, run_id, ordinal`,
  );
  return found.map(({ rule, what, facts, ...row }) => ({
    ...row,
    step: 'rules',
    subject: `rule ${rule}`,
    what: maskNumbers(what + because(facts ?? {})),
  }));
}

/** The facts used by a rule's condition. */
function because(facts: Readonly<Record<string, unknown>>): string {
  const used = Object.entries(facts).map(
    ([path, value]) => `${path} = ${value === null ? 'missing' : JSON.stringify(value)}`,
  );
  return used.length > 0 ? `, since ${used.join(', ')}` : '';
}

/** Each state change of the sends that the rules planned, and of those that became these texts. */
async function readSends(db: Database, runs: readonly RunStep[], texts: readonly TextStep[]): Promise<TraceStep[]> {
  const planned = runs.flatMap(({ sendId }) => sendId ?? []);
  const sent = relation('m', texts, { line: 'text', message_id: ['bigint', ({ messageId }) => messageId] });
  const rows = await query(
    db,
    sql<{ id: string; at: Date; state: string; reason: string | null; actor: string; rule: string }>`
      select e.send_id as id, e.observed_at as at, e.to_state as state, e.reason, e.actor, s.rule
      from ops.send_events e join ops.sends s using (send_id)
      where s.send_id = any(${planned}::uuid[])
        or s.send_id in (select send_id from ops.sends join ${sent} using (line, message_id))
      order by e.event_id`,
  );
  return rows.map(({ id, at, state, reason, actor, rule }) => ({
    at,
    step: 'sends',
    subject: `send ${id}`,
    what: `${state}, by the ${actor === 'rule' ? `rule ${rule}` : actor}${reason === null ? '' : `: ${maskNumbers(reason)}`}`,
  }));
}
