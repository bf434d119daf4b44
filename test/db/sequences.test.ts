import { expect, test } from 'vitest';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';

const log = createLog('silent');
const [restored, used] = [await databaseForTest(migrated), await databaseForTest(migrated)];

const rows = `
  insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at)
    values ('12125550001', '', 'lines.list', 40, now()), ('12125550002', '', 'lines.list', 41, now());
  insert into warehouse.calls (call_id, content_hash, source, fetch_seq, fetched_at) values ('1.1', '', 'calls.get', 57, now());
  insert into ops.deliveries (delivery_id, body, targets, is_recognized)
    overriding system value values (12, '', '{}', false);
  insert into bullmq.event (id, queue, event, created_at_ms) values (9, 'calls', 'added', 0)`;

test('numbers go on behind those of rows that were copied without their sequences', async () => {
  await using database = openDatabase(restored);
  await database.query(rows);
  await migrateAll(restored, log);
  const next = await database.query(
    `select nextval('ops.fetch_seq')::integer as read, nextval('bullmq.event_seq')::integer as event,
       nextval(pg_get_serial_sequence('ops.deliveries', 'delivery_id'))::integer as delivery,
       nextval(pg_get_serial_sequence('ops.gaps', 'gap_id'))::integer as gap`,
  );
  expect(next).toEqual([{ read: 58, event: 10, delivery: 13, gap: 1 }]);
});

test('numbers that are ahead of the rows stay', async () => {
  await using database = openDatabase(used);
  await database.query(`select setval('ops.fetch_seq', 900)`);
  await database.query(rows);
  await migrateAll(used, log);
  expect(await database.query(`select nextval('ops.fetch_seq')::integer as read`)).toEqual([{ read: 901 }]);
});
