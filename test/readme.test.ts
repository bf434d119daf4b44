import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { settingsTable } from '../config/settings.ts';
import { factsDatabase } from './reporting/facts.ts';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
const database = await factsDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('the README shows the settings as their schema has them', () => {
  expect(readme).toContain(settingsTable());
});

const samples = [...readme.matchAll(/```sql\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block.split(/;\s*\n/).filter((statement) => statement.trim() !== ''),
);

test.each(samples)("the README's sample runs: %s", async (statement) => {
  await expect(database.query(statement)).resolves.toBeInstanceOf(Array);
});

const sampleOf = (words: string) => samples.find((each) => each.includes(words)) ?? '';
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

test('of the missed calls, its sample shows those that nobody returned', async () => {
  const missed = { status: 'missed', talk_seconds: 0 };
  await database.call({ call_id: '1.1', started_at: ago(60), external_number: '15550000001', ...missed });
  await database.call({ call_id: '1.2', started_at: ago(60), external_number: '15550000002', ...missed });
  // The service names a call that returned another for abandoned ones alone; this one it leaves to be found.
  await database.call({ call_id: '1.3', started_at: ago(30), external_number: '15550000001', direction: 'outbound' });
  await database.drain();
  const unreturned = await database.query<{ external_number: string }>(sampleOf('nobody returned'));
  expect(unreturned.map(({ external_number }) => external_number)).toEqual(['15550000002']);
});

test('the time to the row is that of the texts of today', async () => {
  const thread = { line: '15559990000', number: '15550000001' };
  const text = async (id: number, receivedAt: string, seenAt: string) => {
    await database.insert('ops.deliveries', {
      received_at: receivedAt,
      body: '',
      body_hash: String(id),
      targets: [`thread ${thread.line}/${thread.number}`],
      is_recognized: true,
    });
    await database.insert('warehouse.sms_messages', {
      ...thread,
      conversation_id: 1,
      message_id: id,
      direction: 'in',
      sent_at: receivedAt,
      body: 'text',
      first_seen_at: seenAt,
    });
  };
  const midnight = (await database.value('select current_date::timestamptz')) as Date;
  const at = (seconds: number) => new Date(Number(midnight) + seconds * 1_000).toISOString();
  await text(1, at(-3_600), at(-3_550));
  await text(2, at(60), at(62));
  expect(await database.query(sampleOf('how long the mirror takes'))).toEqual([{ median_seconds: 2 }]);
});

test('the README has samples to run', () => {
  expect(samples.length).toBeGreaterThan(3);
});
