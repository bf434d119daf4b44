import { expect, test } from 'vitest';
import { writeLines } from '../../src/warehouse/entities/directory/lines.ts';
import { beginRead } from '../../src/warehouse/reads.ts';
import { json, listen, open, refuse } from '../service/endpoint.ts';
import { openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

const { database, sandbox } = await openStage();

// Ten digits with their country code, as in Norway: to be compared, they get another one.
test('a send names its line in the form in which the service lists it', async () => {
  const number = '4721555014';
  const { url, seen } = await listen((response, { method, body }) => {
    if (method === 'GET') return json(response, 200, { data: [{ number, name: '', userIds: [], bulkEnabled: false }] });
    if (JSON.parse(body).from !== number) return refuse(response, 403, 'permission_denied');
    json(response, 201, { data: { from: number, messages: [{ id: 7 }] } });
  });
  const { lines, messages } = open(url);
  const { data, isComplete } = await lines.list();
  const read = await beginRead(database.db, 'lines.list');
  await database.db.transaction().execute((tx) => writeLines(tx, { lines: data, isComplete, read }));

  const ledger = await openLedger(database, sandbox, {
    messages,
    look: async () => true,
    isBlocked: async () => false,
  });
  await ledger.plan({
    rule: 'test',
    line: number,
    number: '12125550123',
    trigger: { kind: 'call', id: '1776772800.1', at: new Date() },
    text: 'We saw your call.',
    mode: 'live',
    limits: { quietHours: 'none' },
  });
  await ledger.dispatcher.round();
  expect(await database.query('select state, reason from ops.sends')).toEqual([{ state: 'SENT', reason: null }]);
  expect(seen.map(({ method }) => method)).toEqual(['GET', 'POST']);
});
