import { expect, onTestFinished, test } from 'vitest';
import { type ErrorCode, ServiceError } from '../../../src/api-client/client.ts';
import { sql } from '../../../src/db/database.ts';
import { type ClaimedAction, claimActions, isAnyDue } from '../../../src/rules/actions/action-states.ts';
import { type ActionContext, performAction, performDueActions } from '../../../src/rules/actions/perform.ts';
import { retryTelling } from '../../../src/rules/actions/tell.ts';
import { createLog } from '../../../src/shared/log.ts';
import { startHttpReceiver } from '../../notify/receivers.ts';
import { migratedDatabase } from '../../world/database.ts';
import { until } from '../../world.ts';

/* Turns of one action, taken by processes that die, wait or get no answer, one statement at a time. */

const database = await migratedDatabase();
const { db, query, value } = database;

const line = '16465550100';
const signal = new AbortController().signal;
const never = new Promise<never>(() => {});
let matches = 0;

/** A match of a moment ago, or of so many hours, with one step that waits. */
async function matched(kind: ClaimedAction['kind'], argument: object | null, hoursAgo = 0): Promise<string> {
  await query(`update ops.rule_actions set state = 'skipped' where state = 'waiting'`);
  matches += 1;
  const runId = await value(
    `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, evaluated_at, line, number, mode, is_matched, reason)
     values ('rule', 'v', 'message_received', $1, now(), now() - $2 * interval '1 hour', $3, '12125550199', 'live', true, 'matched')
     returning run_id`,
    `1/${matches}`,
    hoursAgo,
    line,
  );
  await query(
    `insert into ops.rule_actions (run_id, ordinal, kind, state, argument) values ($1, 1, $2, 'waiting', $3)`,
    runId,
    kind,
    argument && JSON.stringify(argument),
  );
  return String(runId);
}

const noted = () => matched('resolve', { comment: 'Closed.' });

/** Takes the action that waits, whoever has it and however long it was to rest. */
const taken = () => takenBy();

async function takenBy(target?: string): Promise<ClaimedAction> {
  await query(
    `update ops.rule_actions set due_at = now(), claimed_until = least(claimed_until, now() - interval '1 second')
     where state = 'waiting'`,
  );
  const [action, ...others] = await claimActions(db, target === undefined ? { targetsExcept: [] } : { target }, 1);
  if (!action || others.length > 0) throw new Error('One action should wait');
  return action;
}

/** A service that does what it is told to, and keeps what it was asked for. */
function serviceThat(...answers: readonly (() => Promise<unknown>)[]) {
  const asked: unknown[] = [];
  const answer = (wishes: unknown) => {
    asked.push(wishes);
    return answers[Math.min(asked.length, answers.length) - 1]?.() ?? succeed();
  };
  const conversations = {
    resolve: (_: unknown, wishes: unknown) => answer(wishes),
    comment: (_: unknown, comment: unknown) => answer({ comment }),
    assign: (_: unknown, user: unknown) => answer({ user }),
  };
  const service = { conversations } as unknown as ActionContext['service'];
  const log = createLog('silent');
  const parts: ActionContext = {
    db,
    service,
    log,
    mode: 'live',
    readThread: async () => true,
    targets: new Map(),
    publicUrl: undefined,
  };
  return { asked, parts };
}

const succeed = async () => ({ data: { line, number: '12125550199', resolved: true } });
const fails = (code: ErrorCode, effect: 'none' | 'unknown', status?: number) => () =>
  Promise.reject(new ServiceError(code, 'as told', { operation: 'conversations.resolve', effect, status }));

async function stateOf(runId: string) {
  const [row] = await query<{ state: string; reason: string | null; tries: number; pause: number }>(
    `select state, reason, tries, extract(epoch from due_at - now())::float8 as pause from ops.rule_actions
     where run_id = $1 and ordinal = 1`,
    runId,
  );
  if (!row) throw new Error('There is no such action');
  return row;
}

test('a note that may stand is not asked for again, however many looks fail in between', async () => {
  const runId = await noted();
  const { asked, parts } = serviceThat(() => never);
  void performAction(parts, await taken(), signal);
  await until(() => asked.length === 1);
  await performAction({ ...parts, readThread: async () => false }, await taken(), signal);
  await performAction({ ...parts, readThread: fails('timeout', 'unknown') }, await taken(), signal);
  const { asked: askedLater, parts: later } = serviceThat();
  await performAction(later, await taken(), signal);
  expect([...asked, ...askedLater]).toEqual([{ comment: 'Closed.' }, {}]);
  expect(await stateOf(runId)).toMatchObject({
    state: 'done',
    reason: expect.stringContaining('repeated without the note'),
  });
});

test.each([
  ['is cut off', fails('network', 'unknown')],
  ['meets a broken database', () => Promise.reject(new Error('Postgres is away'))],
  ['is not whole', async () => false],
])('a note outlives a look before it that %s', async (_, look) => {
  const runId = await noted();
  const { asked, parts } = serviceThat();
  await performAction({ ...parts, readThread: look }, await taken(), signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 0 });
  await performAction(parts, await taken(), signal);
  expect(asked).toEqual([{ comment: 'Closed.' }]);
  expect(await stateOf(runId)).toMatchObject({ state: 'done', tries: 1 });
});

test('a note that was provably not taken is asked for again', async () => {
  await noted();
  const { asked, parts } = serviceThat(fails('rate_limited', 'none', 429), fails('circuit_open', 'none'), succeed);
  for (let turn = 0; turn < 3; turn += 1) await performAction(parts, await taken(), signal);
  expect(asked).toEqual(Array(3).fill({ comment: 'Closed.' }));
});

test('a note on its own whose answer is lost is left to a person', async () => {
  const runId = await matched('comment', { text: 'A note.' });
  const { asked, parts } = serviceThat(() => never);
  void performAction(parts, await taken(), signal);
  await until(() => asked.length === 1);
  await performAction(parts, await taken(), signal);
  expect(asked).toHaveLength(1);
  expect(await stateOf(runId)).toMatchObject({ state: 'unclear' });
});

test('of two processes that have one action, the one whose claim ended asks for nothing', async () => {
  const runId = await noted();
  const { asked, parts } = serviceThat();
  let free = (_: boolean) => {};
  const held = new Promise<boolean>((resolve) => {
    free = resolve;
  });
  const first = performAction({ ...parts, readThread: () => held }, await taken(), signal);
  await performAction(parts, await taken(), signal);
  free(true);
  await first;
  expect(asked).toEqual([{ comment: 'Closed.' }]);
  expect(await stateOf(runId)).toMatchObject({ state: 'done', tries: 1 });
});

test('one whose claim ended does not end the claim of the next', async () => {
  const runId = await noted();
  const { asked, parts } = serviceThat(() => never);
  let free = (_: boolean) => {};
  const held = new Promise<boolean>((resolve) => {
    free = resolve;
  });
  const first = performAction({ ...parts, readThread: () => held }, await taken(), signal);
  void performAction(parts, await taken(), signal);
  await until(() => asked.length === 1);
  free(false);
  await first;
  expect(await value('select claimed_until > now() from ops.rule_actions where run_id = $1', runId)).toBe(true);
});

test('a step waits for the one before it, also where the process that had that died', async () => {
  const runId = await noted();
  await query(`insert into ops.rule_actions (run_id, ordinal, kind, state) values ($1, 2, 'reopen', 'waiting')`, runId);
  for (let process = 0; process < 2; process += 1) {
    expect(await taken()).toMatchObject({ ordinal: 1 });
    expect(await claimActions(db, { targetsExcept: [] }, 8)).toEqual([]);
  }
  await performAction(serviceThat().parts, await taken(), signal);
  expect(await taken()).toMatchObject({ ordinal: 2 });
});

test('a thread is assigned by the whole id of a user, also beyond what a double holds, whether named or by the id', async () => {
  const userId = '9007199254740993';
  await query(
    `insert into warehouse.users (user_id, username, source, fetch_seq, fetched_at) values ($1, 'pat', 'test', 1, now())`,
    userId,
  );
  for (const name of ['Pat', userId]) {
    await matched('assign', { to: { kind: 'named', name } });
    const { asked, parts } = serviceThat();
    await performAction(parts, await taken(), signal);
    expect(asked, name).toEqual([{ user: userId }]);
  }
});

test('a request that leaves is counted, a turn in which none left is not', async () => {
  const runId = await matched('assign', { to: { kind: 'user', userId: 7 } });
  const { asked, parts } = serviceThat(
    fails('circuit_open', 'none'),
    fails('unauthenticated', 'none'),
    fails('server', 'unknown', 500),
    fails('network', 'none'),
  );
  const tries: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await performAction(parts, await taken(), signal);
    tries.push((await stateOf(runId)).tries);
  }
  expect([asked.length, ...tries]).toEqual([4, 0, 0, 1, 1]);
});

test('an outage of any number of tries ends nothing, and the pauses grow to ten minutes', async () => {
  const runId = await matched('assign', { to: { kind: 'user', userId: 7 } });
  const { parts } = serviceThat(fails('server', 'unknown', 503));
  for (let turn = 0; turn < 12; turn += 1) await performAction(parts, await taken(), signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 12, reason: 'server' });
  const pauses: number[] = [];
  for (const waited of ['0 seconds', '1 minute', '5 hours']) {
    await query('update ops.rule_runs set evaluated_at = now() - $2::interval where run_id = $1', runId, waited);
    await performAction(parts, await taken(), signal);
    pauses.push(Math.round((await stateOf(runId)).pause / 10) * 10);
  }
  expect(pauses).toEqual([0, 60, 600]);
  await query(`update ops.rule_runs set evaluated_at = now() - interval '25 hours' where run_id = $1`, runId);
  await performAction(parts, await taken(), signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'failed', reason: expect.stringContaining('given up') });
});

test('a pause of years that the service asks for ends with the day of the action', async () => {
  const runId = await matched('assign', { to: { kind: 'user', userId: 7 } }, 20);
  const retryAfterMs = 73 * 365 * 86_400_000;
  const details = { operation: 'conversations.assign', effect: 'none', status: 429, retryAfterMs } as const;
  const { parts } = serviceThat(() => Promise.reject(new ServiceError('rate_limited', 'as told', details)));
  await performAction(parts, await taken(), signal);
  expect((await stateOf(runId)).pause / 3_600).toBeCloseTo(4, 1);
});

test.each([199, 302, 404, 500, undefined])(
  'what cannot be read with status %s proves nothing, and is tried again',
  async (status) => {
    const runId = await matched('assign', { to: { kind: 'user', userId: 7 } });
    await performAction(serviceThat(fails('unreadable', 'unknown', status)).parts, await taken(), signal);
    expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 1, reason: 'unreadable' });
  },
);

test('what comes to its turn after a day is asked for all the same', async () => {
  const runId = await matched('assign', { to: { kind: 'user', userId: 7 } }, 30);
  await performAction(serviceThat().parts, await taken(), signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'done' });
});

test.each([
  ['needs a person', 'NEEDS_HUMAN', null],
  ['waits for the end of quiet hours', 'HELD', null],
  ['was sent', 'SENT', 'now()'],
])('a reply that %s keeps performers busy only once it is decided', async (_, state, settled) => {
  const runId = await matched('resolve', null);
  await query(
    `with send as (
       insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at, settled_at)
       values ('rule', $2, '12125550199', 'message', $3, now(), 'live', 'Hello', $4, now() + interval '1 day', ${settled}) returning send_id)
     insert into ops.rule_actions (run_id, ordinal, kind, state, send_id) select $1, 2, 'reply', 'waiting', send_id from send`,
    runId,
    line,
    String(matches),
    state,
  );
  expect(await isAnyDue(db, { targetsExcept: [] })).toBe(settled !== null);
  expect(await isAnyDue(db, { target: 'support' })).toBe(settled !== null);
  // Nothing but the question is asked: this lock keeps everybody from writing.
  if (settled === null) {
    await db.transaction().execute(async (tx) => {
      await sql`lock table ops.rule_actions in share row exclusive mode`.execute(tx);
      await performDueActions(serviceThat().parts, { targetsExcept: [] }, AbortSignal.timeout(5_000));
    });
  }
  await performDueActions(serviceThat().parts, { targetsExcept: [] }, signal);
  expect(await stateOf(runId)).toMatchObject({ state: settled === null ? 'waiting' : 'done' });
});

test.each(['dry-run', 'off'] as const)('a worker that is %s leaves steps to live ones', async (mode) => {
  const runId = await matched('assign', { to: { kind: 'user', userId: 7 } });
  const { parts } = serviceThat();
  await performDueActions({ ...parts, mode }, { targetsExcept: [] }, signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 0 });
  await performDueActions(parts, { targetsExcept: [] }, signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'done' });
});

test('a resolve that waited for its reply has its day from then on', async () => {
  const runId = await matched('resolve', null, 30);
  await query(
    `insert into ops.rule_actions (run_id, ordinal, kind, state, settled_at) values ($1, 2, 'reply', 'done', now())`,
    runId,
  );
  const { parts } = serviceThat(fails('server', 'unknown', 503));
  await performDueActions(parts, { targetsExcept: [] }, signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 1 });
});

test('a target that does not answer holds up no other one: each takes its own steps', async () => {
  await query(`update ops.rule_actions set state = 'skipped' where state = 'waiting'`);
  for (const target of ['crm', 'support', 'typo', null]) {
    await query(
      `with run as (
         insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
         values ('rule', 'v', 'call_ended', coalesce($1, 'none'), now(), $2, coalesce($1, 'none'), 'live', true, 'matched') returning run_id)
       insert into ops.rule_actions (run_id, ordinal, kind, state, target)
       select run_id, 1, case when $1::text is null then 'reopen' else 'notify' end, 'waiting', $1 from run`,
      target,
      line,
    );
  }
  const targetsOf = async (...by: Parameters<typeof claimActions>) =>
    (await claimActions(...by)).map(({ target }) => target).sort();
  expect(await targetsOf(db, { target: 'crm' }, 8)).toEqual(['crm']);
  expect(await targetsOf(db, { target: 'support' }, 8)).toEqual(['support']);
  // Steps for undeclared targets fail: whoever performs the others takes them.
  expect(await targetsOf(db, { targetsExcept: ['crm', 'support'] }, 8)).toEqual([null, 'typo']);
});

/** Steps of matches of so many threads that notify a target: those that were told a moment ago, and those that wait. */
const notifying = (target: string, told: number, waiting: number) =>
  query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
       select 'rule', 'v', 'message_received', $1 || n, now(), $2, $1 || n, 'live', true, 'matched'
       from generate_series(1, $3::integer + $4::integer) n returning run_id)
     insert into ops.rule_actions (run_id, ordinal, kind, target, state, settled_at, argument)
     select run_id, 1, 'notify', $1, case when place <= $3 then 'done' else 'waiting' end, case when place <= $3 then now() end,
       jsonb_build_object('text', 'Words ' || place)
     from (select run_id, row_number() over (order by run_id) as place from run) r`,
    target,
    line,
    told,
    waiting,
  );

async function tellingWorld(target: string) {
  const slack = await startHttpReceiver();
  onTestFinished(() => slack[Symbol.asyncDispose]());
  const targets = new Map([[target, { kind: 'slack' as const, url: slack.url }]]);
  const words = () => slack.received.map(({ body }): string => JSON.parse(body).text);
  return { slack, words, parts: { ...serviceThat().parts, targets } };
}

test.each([
  { target: 'calm', refusedFirst: 0 },
  { target: 'busy', refusedFirst: 4 },
])('of $target, no more than sixty an hour arrive, and one says that it is the last', async (given) => {
  const { target, refusedFirst } = given;
  const { slack, words, parts } = await tellingWorld(target);
  slack.status = refusedFirst > 0 ? 503 : 200;
  await notifying(target, 52, 30);
  const perform = () => performDueActions(parts, { target }, signal);
  await until(async () => {
    await query(`update ops.rule_actions set due_at = now() where state = 'waiting' and target = $1`, target);
    await Promise.all([perform(), perform(), perform()]);
    if (slack.received.length >= refusedFirst && slack.status !== 200) {
      slack.status = 200;
      slack.received.length = 0;
    }
    return (
      (await value(`select count(*)::int from ops.rule_actions where target = $1 and state = 'waiting'`, target)) === 0
    );
  });
  const states = await query(
    'select state, count(*)::int from ops.rule_actions where target = $1 group by 1 order by 1',
    target,
  );
  expect(states).toEqual([
    { state: 'done', count: 60 },
    { state: 'skipped', count: 22 },
  ]);
  expect(words()).toHaveLength(8);
  expect(words().filter((each) => each.includes('further ones are left out'))).toEqual([words().at(-1)]);
});

test('what is told, or told again, long after its match has a day from then on', async () => {
  const { slack, words, parts } = await tellingWorld('support');
  slack.status = 503;
  const asking = async (since: string) => {
    const runId = await matched('notify', { text: 'Look', ...(since && { since }) }, 30);
    await query(`update ops.rule_actions set target = 'support' where run_id = $1`, runId);
    await performDueActions(parts, { target: 'support' }, signal);
    return runId;
  };
  expect(await stateOf(await asking(new Date().toISOString()))).toMatchObject({ state: 'waiting', tries: 1 });
  const runId = await asking('');
  expect(await stateOf(runId)).toMatchObject({ state: 'failed' });
  await retryTelling(db, { runIds: [runId] });
  await performDueActions(parts, { target: 'support' }, signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'waiting', tries: 1 });
  slack.status = 200;
  await performAction(parts, await takenBy('support'), signal);
  expect(await stateOf(runId)).toMatchObject({ state: 'done' });
  expect(words().at(-1)).toBe('Look');
  expect(await value('select argument from ops.rule_actions where run_id = $1', runId)).toBeNull();
});
