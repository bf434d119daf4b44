import { expect, test } from 'vitest';
import { addNumbers } from '../../src/completeness/gaps/candidate-threads.ts';
import { quick, until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* A first start with live rules, on an account with a history. */

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
const limits = 'limits: { quiet_hours: none, max_age: 24h }';
const rules = `
rules:
  - { name: two-days, on: thread_idle, for: 48h, do: [{ reply: Are you still there? }], ${limits} }
  - { name: soon, on: thread_idle, for: 3s, do: [{ reply: Hello? }], ${limits} }
  - { name: text, on: message_received, if: message.text != "STOP", do: [{ reply: We got your text. }], ${limits} }
  - { name: missed, on: call_missed, if: line.can_text, do: [{ reply: Sorry that we missed you. }], ${limits} }
`;

const world = await createRulesWorld(rules, 'live', 'postgres', {
  sandbox: { calls: 60, threads: 20 },
  ...quick,
  workers: null,
  environment: { BACKFILL_DAYS: '30' },
});
const { sandbox, value } = world;
const lines = ['16465550100', '16465550101', '16465550102'];
const recipients = () => sandbox.sends().flatMap(({ charge }) => charge?.to ?? []);
const textsTo = (number: string) => recipients().filter((to) => to === number).length;

test('texts nobody who did not write or call since', async () => {
  const old: { line: string; number: string }[] = [];
  for (const age of [0.01, 0.2, 0.5, 3, 23, 47.99, 48.01, 50, 60, 71, 200, 1_000, 2_159]) {
    for (const [at, line] of lines.entries()) {
      const number = String(12_125_550_601 + old.length);
      old.push({ line, number });
      await sandbox.emit.sms({ line, number, text: 'Are you open?', sentAt: hoursAgo(age), announce: false });
      // Every other one has written STOP to another line.
      const other = lines[(at + 1) % lines.length];
      if (old.length % 2 === 0)
        await sandbox.emit.sms({ line: other, number, text: 'STOP', sentAt: hoursAgo(age + 1), announce: false });
    }
  }
  await world.work();
  const { db } = world.context.database;
  await until(async () => (await addNumbers(db, old)) === old.length);
  const isMirrored = `select (select count(*) from ops.backfills where is_automatic and finished_at is not null) = 2
    and (select count(*) from warehouse.sms_conversations where number = any($1)) >= $2`;
  await until(
    async () =>
      (await value(
        isMirrored,
        old.map(({ number }) => number),
        old.length,
      )) === true,
  );
  await world.rulesSettled();
  const known = '12125550601';
  await sandbox.emit.sms({ line: lines[0], number: known, text: 'I am asking again.' });
  const fresh = '12125550700';
  await sandbox.emit.sms({ line: lines[0], number: fresh, text: 'And I am new.' });
  // The answer, and three seconds later the one on their silence: by then the old silences were looked at too.
  await until(() => textsTo(known) === 2 && textsTo(fresh) === 2);
  expect(recipients().filter((to) => to !== known && to !== fresh)).toEqual([]);
});

test('nor who wrote STOP on a line that was not read yet', async () => {
  const number = '12125550701';
  await sandbox.emit.sms({ line: lines[1], number, text: 'STOP', sentAt: hoursAgo(300), announce: false });
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number });
  const state = `select concat_ws(' ', state, reason) from ops.sends where number = $1`;
  await until(async () => (await value(state, number)) === 'DENIED gate:opted_out');
  expect(textsTo(number)).toBe(0);
});
