import { beforeEach, expect, test } from 'vitest';
import { type LedgerWorld, openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

const { clear, database, posts, sandbox } = await openStage();
beforeEach(clear);

type Listed = readonly { readonly name: string; readonly mode: string }[];

/** What a worker writes down when it takes a rules file. */
async function load(rules: Listed, version: string | null = 'v2'): Promise<void> {
  await database.query(
    `insert into ops.rules_loaded (version, mode, rules) values ($1, 'live', $2)
     on conflict (is_only) do update set version = excluded.version, rules = excluded.rules, checked_at = now()`,
    version,
    JSON.stringify(rules),
  );
}

const inForce = (mode: string): Listed => [
  { name: 'other', mode: 'live' },
  { name: 'test', mode },
];

/** A text that a rule planned while it was live. */
async function planned(): Promise<{ ledger: LedgerWorld; sendId: string }> {
  const ledger = await openLedger(database, sandbox);
  await load(inForce('live'), 'v1');
  const { sendId } = await ledger.answer({ ruleVersion: 'v1' });
  return { ledger, sendId };
}

const fates = [
  { now: 'off', rules: inForce('off'), state: 'DENIED gate:rule_off' },
  { now: 'gone from the file', rules: [], state: 'DENIED gate:rule_off' },
  { now: 'on trial', rules: inForce('dry-run'), state: 'DENIED dry_run' },
] as const;

test.each(fates)('a text that waits is not sent when its rule is $now', async ({ rules, state }) => {
  const { ledger, sendId } = await planned();
  await load(rules);
  expect(await ledger.dispatcher.turn(sendId)).toBe('denied');
  expect(await ledger.state(sendId)).toBe(state);
  expect(posts()).toBe(0);
});

test.each(fates)('nor when it is $now only once the thread is read', async ({ rules, state }) => {
  const { ledger, sendId } = await planned();
  const changing = await openLedger(database, sandbox, {
    look: async (thread) => {
      await load(rules);
      return ledger.parts.look(thread);
    },
  });
  expect(await changing.dispatcher.turn(sendId)).toBe('denied');
  expect(await ledger.state(sendId)).toBe(state);
  expect(posts()).toBe(0);
  const books = 'select distinct sends_count, reserved_micros::int from ops.send_budgets';
  expect(await database.query(books)).toEqual([{ sends_count: 0, reserved_micros: 0 }]);
});

test('a newer file in which its rule is live lets it out', async () => {
  const { ledger, sendId } = await planned();
  await load(inForce('live'));
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

test('while no file is in force it waits', async () => {
  const { ledger, sendId } = await planned();
  await load([], null);
  expect(await ledger.dispatcher.turn(sendId)).toBe('paused');
  await load(inForce('live'));
  const changing = await openLedger(database, sandbox, {
    look: async (thread) => {
      await load([], null);
      return ledger.parts.look(thread);
    },
  });
  expect(await changing.dispatcher.turn(sendId)).toBe('paused');
  expect(await ledger.state(sendId)).toBe('PLANNED no rules in force');
  await load(inForce('live'));
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  expect(posts()).toBe(1);
});

test('a text of a file that is not written down yet is sent, and so is one that no rule planned', async () => {
  const ledger = await openLedger(database, sandbox);
  await load([]);
  const early = await ledger.answer({ ruleVersion: 'v3' });
  const byHand = await ledger.answer();
  expect(await ledger.dispatcher.turn(early.sendId)).toBe('sent');
  await load([]);
  expect(await ledger.dispatcher.turn(byHand.sendId)).toBe('sent');
});
