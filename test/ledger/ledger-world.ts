import { expect, onTestFinished } from 'vitest';
import { createService, ServiceError } from '../../src/api-client/client.ts';
import { createDispatcher, type Dispatcher } from '../../src/ledger/dispatcher.ts';
import type { LedgerDeps, LedgerTiming } from '../../src/ledger/ledger.ts';
import type { AccountLimits } from '../../src/ledger/limits.ts';
import { planSend } from '../../src/ledger/plans.ts';
import { findSend, type SendPlan } from '../../src/ledger/send.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { SmsEvent } from '../../src/sandbox/traffic/events.ts';
import { createThreadRefresh } from '../../src/sync/read-thread-now.ts';
import type { TestDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';

/** The ledger with a real sandbox and database, without queues and webhooks: only the test triggers work. */
export interface LedgerWorld {
  readonly dispatcher: Dispatcher & {
    /** Sweeps and advances until nothing is due, nor about to be tried again. Returns the number of advances. */
    drain(): Promise<number>;
  };
  readonly deps: LedgerDeps;
  readonly logged: () => string;
  /** Lets a customer write, mirrors the thread as the sync would, and plans an answer. */
  answer(plan?: Partial<SendPlan>, event?: SmsEvent): Promise<PlannedSend>;
  plan(plan: SendPlan): Promise<PlanResult>;
  /** Reads a thread into the mirror. */
  mirror(line: string, number: string): Promise<void>;
  state(sendId: string): Promise<string>;
  /** Deletes the pending rule events, as if rules had been evaluated and none had matched. */
  evaluateRules(): Promise<void>;
  /** Lets a worker hang for good with a send in a state. */
  hangIn(state: 'RESERVED' | 'DISPATCHED', sendId: string): Promise<void>;
  /** The same ledger, where something happens just after a thread was read and before the request leaves. */
  meanwhile(happens: () => Promise<unknown>): Dispatcher;
  /** States that a send has been in, oldest first, with the reasons. */
  history(sendId: string): Promise<string[]>;
  /** Makes the send due now. */
  makeDue(sendId: string): Promise<void>;
  /** Reconciles after the last scheduled read. */
  reconcileToTheEnd(sendId: string): Promise<void>;
  /** Bodies of the texts in the sandbox that went out to a number. */
  texts(number: string): Promise<string[]>;
}

type PlanResult = 'planned' | 'duplicate' | 'thread_busy';

export interface PlannedSend {
  readonly sendId: string;
  readonly planned: PlanResult;
  readonly line: string;
  readonly number: string;
  readonly triggerId: string;
}

/** Waits are short. Whatever only a stalled worker reaches is far away, however busy the machine is. */
const quickTiming: LedgerTiming = {
  leaseMs: 600_000,
  answerMs: 300_000,
  stallMs: 300_000,
  reconcileAtMs: [58_000, 59_000, 60_000],
  graceMs: 60_000,
  readRetryMs: 50,
  retryMs: 10,
  waitMs: 10,
  lostAfterMs: 500,
};

/** As after a thread that could not be read just then, by the timing above. */
const isTriedAgain = `select exists (select from ops.sends
  where state in ('PLANNED', 'HELD') and due_at > now() and due_at < now() + interval '100 ms')`;

let customers = 1_000;

export async function openLedger(
  database: TestDatabase,
  sandbox: Sandbox,
  {
    key = sandbox.apiKey,
    limits,
    ...overrides
  }: Partial<LedgerDeps> & { readonly key?: string; readonly limits?: Partial<AccountLimits> } = {},
): Promise<LedgerWorld> {
  if (limits) await putInForce(database, { limits });
  const captured = captureLog();
  const { db } = database;
  const service = createService({
    baseUrl: sandbox.url,
    apiKey: key,
    log: captured.log,
    retry: { tries: 1 },
    circuit: { failures: 100_000 },
  });
  onTestFinished(() => service.close());
  const notify = () => undefined;
  const readThread = createThreadRefresh({ db, service, notify });
  const deps: LedgerDeps = {
    db,
    log: captured.log,
    messages: service.messages,
    readThread,
    isBlocked: (line, number) =>
      service.lines.blocked(line, number).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ServiceError && error.code === 'not_found') return false;
          throw error;
        },
      ),
    mode: 'live',
    notify,
    ...overrides,
    timing: { ...quickTiming, ...overrides.timing },
  };
  const created = createDispatcher(deps);
  // As a worker sweeps.
  const sweep = async (max: number) => ((await created.hasWork()) ? created.sweep(max) : []);
  const dispatcher = { ...created, sweep };
  const lines = (await service.lines.list()).data;
  const ourLine = lines[0]?.number ?? '';

  async function plan(given: SendPlan): Promise<PlanResult> {
    const planned = await db.transaction().execute((tx) => planSend(tx, given));
    return typeof planned === 'string' ? planned : 'planned';
  }

  const rulesTried = async () => void (await database.query('delete from ops.rule_events'));

  async function drain(): Promise<number> {
    let advanced = 0;
    for (;;) {
      const due = await dispatcher.sweep(20);
      if (due.length === 0 && !(await database.value(isTriedAgain))) return advanced;
      await Promise.all(due.map(dispatcher.advance));
      advanced += due.length;
    }
  }

  const state = async (sendId: string) => {
    const send = await findSend(db, sendId);
    return `${send?.state}${send?.reason ? ` ${send.reason}` : ''}`;
  };

  return {
    dispatcher: { ...dispatcher, drain },
    deps,
    logged: captured.text,
    plan,
    evaluateRules: rulesTried,
    mirror: async (line, number) => void (await readThread({ line, number, participants: [] })),
    async answer(given = {}, event = {}) {
      customers += 1;
      const number = given.number ?? `1212555${customers}`;
      const line = given.line ?? ourLine;
      const at = event.sentAt === undefined ? new Date() : new Date(event.sentAt);
      const sentAt = at.toISOString();
      const text = { text: 'Are you open today?', announce: false, ...event, sentAt };
      const made = await sandbox.emit.sms({ line, number, ...text });
      await readThread({ line, number, participants: [] });
      const triggerId = String(made.id);
      await rulesTried();
      const planned = await plan({
        rule: 'test',
        text: `An answer to ${triggerId}`,
        mode: 'live',
        limits: { quietHours: 'none' },
        ...given,
        line,
        number,
        trigger: { kind: 'message', id: triggerId, at },
      });
      const sendId = await database.value(
        'select send_id from ops.sends where line = $1 and number = $2 and trigger_id = $3 and rule = $4',
        line,
        number,
        triggerId,
        given.rule ?? 'test',
      );
      return { sendId: String(sendId), planned, line, number, triggerId };
    },
    state,
    async hangIn(wanted, sendId) {
      const never = () => new Promise<never>(() => undefined);
      const hung = wanted === 'RESERVED' ? { readThread: never } : { messages: { send: never } };
      void createDispatcher({ ...deps, ...hung }).advance(sendId);
      await expect.poll(() => state(sendId)).toBe(wanted);
    },
    meanwhile: (happens) =>
      createDispatcher({
        ...deps,
        async readThread(thread) {
          const isWhole = await readThread(thread);
          await happens();
          return isWhole;
        },
      }),
    async history(sendId) {
      const rows = await database.query<{ to_state: string }>(
        'select to_state from ops.send_events where send_id = $1 order by event_id',
        sendId,
      );
      return rows.map((row) => row.to_state);
    },
    async makeDue(sendId) {
      await database.query(`update ops.sends set due_at = now(), enqueued_at = '-infinity' where send_id = $1`, sendId);
    },
    async reconcileToTheEnd(sendId) {
      await database.query(
        `update ops.sends set dispatched_at = dispatched_at - interval '1 minute', due_at = now() where send_id = $1`,
        sendId,
      );
      await dispatcher.advance(sendId);
    },
    async texts(number) {
      const read = await service.conversations.read({ line: ourLine, number });
      return read.data.messages.filter(({ direction }) => direction === 'out').map(({ text }) => text ?? '');
    },
  };
}

/** Puts a version of the rules in force, which sets these limits and has rules of these names and modes. */
export async function putInForce(
  database: TestDatabase,
  { limits = {}, rules = [] }: { limits?: Partial<AccountLimits>; rules?: readonly { name: string; mode: string }[] },
): Promise<void> {
  await database.query(
    `insert into ops.rule_versions (version, body, applied_by, limits, rules)
     select coalesce(max(version), 0) + 1, '', 'a test', $1, $2 from ops.rule_versions`,
    JSON.stringify(limits),
    JSON.stringify(rules),
  );
}
