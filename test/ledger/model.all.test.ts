import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { resumeSends } from '../../src/ledger/control.ts';
import type { FaultInput } from '../../src/sandbox/faults/spec.ts';
import { createProgress, isCampaign, report, sized } from '../faults/figures.ts';
import { createRandom } from '../faults/random.ts';
import { bareRefusal, proxyPage, redirect, truncated } from '../sandbox/presets.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { openLedger } from './ledger-world.ts';
import { createClumsyWorker, type Posts } from './model.ts';

const { ask, database, sandbox } = await openLedgerStores();

const intents = isCampaign ? sized(20_000) : 150;
const workers = 8;
const sweepers = 2;
const leaseMs = 1_200;

/** How often a worker fails at each point, of one. */
const clumsiness = { dies: 0.02, oversleeps: 0.01 };

const faults = [
  { kind: 'reset', when: 'before', rate: 0.03 },
  { kind: 'reset', when: 'after', rate: 0.05 },
  { kind: 'reset', when: 'midway', rate: 0.03 },
  { ...proxyPage(502), when: 'after', rate: 0.02 },
  { ...proxyPage(200), when: 'after', rate: 0.02 },
  { ...bareRefusal, when: 'after', rate: 0.02 },
  { ...redirect, when: 'after', rate: 0.01 },
  { ...truncated, rate: 0.02 },
  { kind: 'slow', ms: 1_500, rate: 0.01 },
  { kind: 'answer', status: 500, rate: 0.06 },
  { kind: 'answer', status: 429, rate: 0.03 },
  { kind: 'answer', status: 403, rate: 0.02 },
].map((fault) => ({ ...fault, operation: 'sendMessage' }) as FaultInput);

test(`${intents} intents, workers that overlap and a line that lies: no send twice, no wrong verdict, no money over the cap`, async () => {
  const random = createRandom('ledger');
  // Less than what is wanted costs, so that the cap is met.
  const cap = intents * 10_000 * 0.7;
  const ledger = await openLedger(database, sandbox, {
    limits: { dailyMicros: cap, perAccount: 50_000, perThread: 10, unitMicros: 10_000 },
    timing: {
      leaseMs,
      answerMs: 700,
      stallMs: 400,
      reconcileAtMs: [100, 500, 1_500],
      readRetryMs: 50,
      // A send waits for seconds for the budget that other sends hold, and each try costs as many statements as a send.
      waitMs: 500,
      lostAfterMs: 300,
    },
  });
  const lines = await ask<{ number: string }[]>('GET', '/api/public/v1/sms/lines');
  const users = await ask<{ id: number }[]>('GET', '/api/public/v1/users');
  const posts: Posts = { possible: new Map(), total: 0 };

  async function intend(at: number): Promise<void> {
    const line = lines[at % lines.length]?.number ?? '';
    const number = `1212${String(2_000_000 + at)}`;
    const own = { quietHours: 'none', humanMinutes: 0, maxAgeSeconds: 86_400 } as const;
    const answered = await ledger.answer(
      { line, number, text: `Reply ${at}`, limits: own },
      { text: `Question ${at}` },
    );
    // Whoever evaluates the same trigger again, or another rule on it, changes nothing.
    const trigger = { kind: 'message', id: answered.triggerId, at: new Date() } as const;
    const limits = { quietHours: 'none' } as const;
    const again = { rule: 'test', line, number, text: `Reply ${at}`, mode: 'live', trigger, limits } as const;
    if (at % 5 === 0) expect(await ledger.plan(again)).toBe('duplicate');
    if (at % 7 === 0) await ledger.plan({ ...again, rule: 'other', text: `Other ${at}` });
    // They write again, wherever the answer to the first text is by then.
    if (at % 3 === 0) {
      await sleep(random.between(0, 300));
      await ledger.answer({ line, number, text: `Later ${at}`, limits: own }, { text: `Another question ${at}` });
    }
    // A person who writes the very same words must not be taken for the ledger.
    if (at % 11 === 0) {
      setTimeout(
        () => {
          const event = { line, number, direction: 'out', text: `Reply ${at}`, sentBy: users[0]?.id ?? 1 } as const;
          void sandbox.emit.sms({ ...event, announce: false });
        },
        random.between(50, 400),
      );
    }
  }

  const progress = createProgress('ledger');
  let begun = 0;
  let planned = 0;
  let isOver = false;
  async function plans(): Promise<void> {
    while (begun < intents) {
      begun += 1;
      await intend(begun);
      planned += 1;
    }
  }
  const enqueued: string[] = [];
  async function sweeps(): Promise<void> {
    while (!isOver) {
      const due = enqueued.length < 2 * workers ? await ledger.dispatcher.sweep(2 * workers) : [];
      // Jobs that are enqueued twice, and reach two workers at once.
      enqueued.push(...due.flatMap((sendId) => (random.next() < 0.1 ? [sendId, sendId] : [sendId])));
      await sleep(due.length > 0 ? 0 : 100);
    }
  }
  async function works(): Promise<void> {
    let worker = createClumsyWorker(ledger.deps, posts, random, clumsiness, leaseMs);
    while (!isOver) {
      const sendId = enqueued.shift();
      if (sendId === undefined) await sleep(10);
      else if ((await worker.work(sendId)) === 'died') {
        worker = createClumsyWorker(ledger.deps, posts, random, clumsiness, leaseMs);
      }
    }
  }
  // Threads in which a text went out are mirrored, as the sync does: the message is told whose it is.
  async function mirrors(): Promise<void> {
    while (!isOver) {
      const threads = await database.query<{ line: string; number: string }>(
        `select line, number from ops.sends where state = 'SENT' and linked_at is null and settled_at < now() - interval '1 second'
         order by settled_at limit 20`,
      );
      for (const { line, number } of threads) await ledger.mirror(line, number);
      await sleep(threads.length > 0 ? 200 : 500);
    }
  }
  const count = async (where: string) => Number(await database.value(`select count(*) from ops.sends where ${where}`));
  const under = `state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'UNKNOWN')`;
  async function operates(): Promise<void> {
    do {
      await resumeSends(database.db);
      if (isCampaign) progress(() => `${planned} of ${intents} intents planned, ${posts.total} requests`);
      await sleep(100);
    } while (planned < intents || (await count(under)) > 0);
    isOver = true;
  }

  sandbox.faults(...faults);
  const began = performance.now();
  await Promise.all([
    operates(),
    mirrors(),
    ...Array.from({ length: 2 }, plans),
    ...Array.from({ length: sweepers }, sweeps),
    ...Array.from({ length: workers }, works),
  ]);
  await ledger.dispatcher.sweep(1);

  const twice = [...posts.possible].filter(([, requests]) => requests > 1);
  const charges = sandbox.sends(1_000_000).flatMap(({ charge }) => (charge === null ? [] : [charge]));
  const chargesOf = Map.groupBy(charges, ({ to }) => to[0] ?? '');
  const rows = await database.query<{ number: string; sent: number; open: number; micros: number; all: number }>(
    `select number, count(*) filter (where state = 'SENT')::integer as sent,
       count(*) filter (where state = 'NEEDS_HUMAN')::integer as open, count(*)::integer as "all",
       coalesce(sum(settled_micros), 0)::float8 as micros
     from ops.sends group by number`,
  );
  const wrong = rows.filter(({ number, sent, open }) => {
    const charged = chargesOf.get(number)?.length ?? 0;
    return charged < sent || charged > sent + open;
  });
  const spent = charges.reduce((sum, { totalMicros }) => sum + totalMicros, 0);
  const states = await database.query<{ state: string; count: number }>(
    `select case when is_reconciled then 'SENT (reconciled)' when reason like 'gate:budget%' then 'DENIED (budget)' else state end as state,
       count(*)::integer as count from ops.sends group by 1 order by 1`,
  );
  expect(twice).toEqual([]);
  expect(wrong).toEqual([]);
  expect(charges.filter(({ to }) => !rows.some(({ number }) => number === to[0])).length).toBe(0);
  // What a settled send says it cost is what the service charged for that very message.
  const settled = await database.query<{ message_id: string; settled_micros: number }>(
    `select message_id, settled_micros::float8 from ops.sends where settled_micros is not null and message_id is not null`,
  );
  const microsOf = new Map(charges.map(({ messageIds, totalMicros }) => [String(messageIds[0]), totalMicros]));
  expect(settled.filter(({ message_id: id, settled_micros: micros }) => microsOf.get(id) !== micros)).toEqual([]);
  const reconciled = await database.query<{ message_id: string }>(
    'select message_id from ops.sends where is_reconciled',
  );
  expect(reconciled.filter(({ message_id: id }) => !microsOf.has(id))).toEqual([]);

  // The budgets say what the rows say, on each day: at midnight (UTC) the cap begins anew.
  const books = await database.query<{ isEven: boolean }>(
    `select reserved_micros + spent_micros <= $1 and reserved_micros = open and spent_micros = sent and sends_count = sends as "isEven"
     from ops.send_budgets b cross join lateral (
       select coalesce(sum(s.reserved_micros) filter (where state = 'NEEDS_HUMAN'), 0) as open,
         coalesce(sum(coalesce(settled_micros, s.reserved_micros)) filter (where state = 'SENT'), 0) as sent,
         count(*) filter (where state in ('SENT', 'NEEDS_HUMAN')) as sends
       from ops.sends s where s.budget_date = b.budget_date) rows
     where scope = 'account'`,
    cap,
  );
  expect(books.length).toBeGreaterThan(0);
  expect(books.filter(({ isEven }) => !isEven)).toEqual([]);
  expect(spent).toBeLessThanOrEqual(cap * books.length);
  expect(await count(`state = 'SENT'`)).toBeGreaterThan(intents / 10);

  const told = states.map(({ state, count: rows }) => `${state} ${rows}`).join(', ');
  if (isCampaign) {
    const what = `${intents} intents, ${posts.total} requests, ${charges.length} charges, $${spent / 1e6} of $${cap / 1e6}: ${told}`;
    report('ledger', 'either', what, began);
  }
}, 5_400_000);
