import { afterAll, expect, test } from 'vitest';
import { replayDelivery } from '../../src/inbox/stored-deliveries.ts';
import { createWorld, until } from '../world.ts';

const world = await createWorld({ backend: 'postgres' });
afterAll(() => world.close());
const { context, query, sandbox, value, settled } = world;

/** Delivers an event; resolves to the id of the answer. */
async function deliver(type: string, event: object): Promise<string> {
  const answer = await world.deliver(type, event);
  return ((await answer.json()) as { delivery: string }).delivery;
}
const pathsOf = (delivery: string) =>
  sandbox.requests().flatMap(({ path, requestId }) => (requestId === delivery ? [path] : []));
const linesOf = (delivery: string) =>
  world
    .logged()
    .split('\n')
    .filter((line) => line.includes(`"delivery":"${delivery}"`))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

test('the id of the answer is that of the row, of the reads it causes, of their requests and of their log lines', async () => {
  const { id: call } = await sandbox.emit.call({ status: 'answered', recorded: true, announce: false });
  const delivery = await deliver('AccountEndedCalls', { callId: call });
  const targets = 'select targets::text from ops.deliveries where delivery_id = $1';
  expect(await value(targets, delivery)).toBe(`{"call ${call}"}`);
  const transcripts = `select clean_version > 0 from ops.sync_targets where kind = 'transcripts' and key = $1`;
  await until(async () => {
    await query('update ops.sync_targets set due_at = now() where key = $1', call);
    return (await value(transcripts, call)) === true;
  });
  await settled();
  // What the read of the call made pending has the same cause.
  expect(await query('select distinct delivery_id from ops.sync_targets where key = $1', call)).toEqual([
    { delivery_id: delivery },
  ]);
  const path = `/api/public/v1/calls/${call}`;
  expect(pathsOf(delivery)).toEqual(expect.arrayContaining([path, `${path}/recordings`]));
  expect(linesOf(delivery)).toEqual(expect.arrayContaining(['A delivery was stored', 'A read was mirrored']));
  const ofUsers = sandbox.requests().filter((each) => each.path.endsWith('/users'));
  expect(
    ofUsers.map(({ requestId }) => requestId),
    'no delivery caused it',
  ).toContain(undefined);
});

test('a failed read names its delivery', async () => {
  const delivery = await deliver('AccountEndedCalls', { callId: '1700000001.404404' });
  await until(() => linesOf(delivery).includes('A read failed; it is retried'));
});

test('a replayed delivery is the cause of its reads again', async () => {
  const { id, line, number } = await sandbox.emit.sms({ announce: false });
  const delivery = await deliver('AccountSMS', { id, direction: 'received', fromNumber: number, toNumber: line });
  await settled();
  const before = pathsOf(delivery).length;
  expect(before).toBeGreaterThan(0);
  const { database, notifier } = context;
  await replayDelivery({ db: database.db, notify: notifier.notify }, delivery);
  await settled();
  expect(pathsOf(delivery).length).toBeGreaterThan(before);
});
