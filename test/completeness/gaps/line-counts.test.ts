import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { missingTexts } from '../../../src/completeness/gaps/unread-comparisons.ts';
import { migratedDatabase } from '../../world/database.ts';
import { line, passMinutes, startCountingService } from './counting-service.ts';

const database = await migratedDatabase();
const { db, query } = database;
const service = await startCountingService(database);
const { hold, look, state } = service;
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(service.begin);

describe('of a line that counts what nobody has read', () => {
  test('texts that people have read are not unread', async () => {
    await hold(5, { readers: [7] });
    await hold(2);
    service.counts = { [line]: 2 };
    expect(await look()).toMatchObject({ reported: 2, held: 2, state: 'even' });
  });

  test('a text that somebody marks unread, where people make texts read, is unread', async () => {
    await hold(2);
    await query('update warehouse.sms_messages set is_read = true');
    await query(
      'insert into warehouse.sms_message_reads (conversation_id, message_id, user_id) select conversation_id, message_id, 7 from warehouse.sms_messages',
    );
    expect(await look()).toMatchObject({ held: 0, state: 'even' });
    await query('update warehouse.sms_messages set is_read = false where message_id = 1');
    service.counts = { [line]: 1 };
    expect(await look()).toMatchObject({ held: 1, state: 'even' });
  });

  test('lost texts are looked for and shown, however many others people have read', async () => {
    await hold(5, { readers: [7, 8] });
    await query(
      `insert into warehouse.calls (call_id, started_at, external_number, account_number, content_hash, source, fetch_seq, fetched_at)
       values ('1.1', now() - interval '1 hour', '17185559999', $1, 'h', 'test', 1, now())`,
      line,
    );
    service.counts = { [line]: 3 };
    expect(await look()).toMatchObject({ reported: 3, held: 0, state: 'behind' });
    await passMinutes(database, 2);
    expect(await state()).toBe('behind');
    expect(await query('select number from ops.thread_candidates where probed_at is not null')).toEqual([
      { number: '17185559999' },
    ]);
    await passMinutes(database, 20);
    expect(await state()).toBe('unexplained');
    expect(await missingTexts(db)).toMatchObject([{ line, missing: 3, state: 'unexplained' }]);
  });

  test('as many lost as people have read are lost all the same', async () => {
    await hold(3, { readers: [7] });
    expect(await state()).toBe('even');
    service.counts = { [line]: 3 };
    await passMinutes(database, 1);
    expect(await state()).toBe('behind');
  });
});
