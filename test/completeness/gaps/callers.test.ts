import { afterAll, beforeEach, expect, test } from 'vitest';
import { addCallers, type CallerEvidence } from '../../../src/completeness/gaps/candidate-threads.ts';
import { migratedDatabase } from '../../world/database.ts';
import { line, otherLine, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { db, query } = database;
const service = await startCountingService(database);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const [ofLine, ofExtension, ofOldDays, withThread] = ['12125550001', '12125550002', '12125550003', '12125550004'];
const period = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 60_000) };

beforeEach(async () => {
  await service.begin();
  for (const [at, [number, called, age]] of [
    [ofLine, line, '1 minute'],
    [ofExtension, '18005550199', '3 minutes'],
    [ofOldDays, line, '3 days'],
    [withThread, line, '1 hour'],
    [otherLine, line, '1 hour'],
  ].entries()) {
    await query(
      `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
       values ($1, now() - $2::interval, $3, $4, 'h', 'test', 1, now())`,
      ...[`2.${at}`, age, number, called],
    );
  }
  await query(`insert into warehouse.sms_conversations (line, number) values ($1, $2)`, ...[otherLine, withThread]);
});

const ofBoth = (number = '') => [`${line} ${number}`, `${otherLine} ${number}`];

test.each<[string, CallerEvidence['line'], string[]]>([
  [
    'every line',
    undefined,
    [...ofBoth(ofLine), ...ofBoth(ofExtension), `${line} ${withThread}`, `${line} ${otherLine}`],
  ],
  ['one line', otherLine, [`${otherLine} ${ofLine}`, `${otherLine} ${ofExtension}`]],
  [
    'the called line, or every line where that cannot text',
    'called',
    [`${line} ${ofLine}`, ...ofBoth(ofExtension), `${line} ${withThread}`, `${line} ${otherLine}`],
  ],
])('the callers of a period are asked for on %s', async (_, asked, pairs) => {
  expect(await addCallers(db, period, asked === undefined ? {} : { line: asked })).toBe(pairs.length);
  const candidates = await query<{ pair: string }>(`select line || ' ' || number as pair from ops.thread_candidates`);
  expect(candidates.map(({ pair }) => pair).sort()).toEqual(pairs.sort());
});
