import { afterAll, describe, expect, test } from 'vitest';
import { replayDelivery } from '../../src/inbox/stored-deliveries.ts';
import { backends } from '../stores/backends.ts';
import { captureLog } from '../world/log.ts';
import { createWorld, until, type World } from '../world.ts';

const captured = captureLog();
const worlds = new Map<string, World>();
for (const backend of backends) worlds.set(backend, await createWorld({ backend, log: captured.log }));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

interface LogLine {
  readonly msg: string;
  readonly delivery?: string;
}

const linesOf = (delivery: string) =>
  captured
    .text()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)
    .filter((line) => line.delivery === delivery)
    .map(({ msg }) => msg);

describe.each(backends)('on %s', (backend) => {
  const { context, deliver, query, sandbox, value, settled } = worlds.get(backend) as World;
  const requestsOf = (delivery: string) => sandbox.requests().filter(({ requestId }) => requestId === delivery);

  test('the id of the answer is that of the row, of the reads it causes, of their requests and of their log lines', async () => {
    const { id: call } = await sandbox.emit.call({ status: 'answered', recorded: true, announce: false });
    const answer = await deliver('AccountEndedCalls', { callId: call });
    const { delivery } = (await answer.json()) as { delivery: string };
    expect(await query('select targets from ops.deliveries where delivery_id = $1', delivery)).toEqual([
      { targets: [`call ${call}`] },
    ]);
    const transcripts = `select count(*)::integer from ops.sync_targets where kind = 'transcripts' and key = $1 and clean_version > 0`;
    await until(async () => (await value(transcripts, call)) === 1);
    await settled();
    // What the read of the call made pending has the same cause.
    expect(await query('select distinct delivery_id from ops.sync_targets where key = $1', call)).toEqual([
      { delivery_id: delivery },
    ]);
    expect(requestsOf(delivery).map(({ path }) => path)).toEqual(
      expect.arrayContaining([`/api/public/v1/calls/${call}`, `/api/public/v1/calls/${call}/recordings`]),
    );
    expect(linesOf(delivery)).toEqual(expect.arrayContaining(['A delivery was stored', 'A read was mirrored']));
  });

  test('requests that no delivery caused have no id', async () => {
    await settled();
    expect(
      sandbox
        .requests()
        .filter(({ path }) => path.endsWith('/users'))
        .map(({ requestId }) => requestId),
    ).toContain(undefined);
  });

  test('a failed read names its delivery', async () => {
    const answer = await deliver('AccountEndedCalls', { callId: '1700000001.404404' });
    const { delivery } = (await answer.json()) as { delivery: string };
    await until(() => linesOf(delivery).includes('A read failed; it is retried'));
  });

  test('a replayed delivery is the cause of its reads again', async () => {
    const { id, line, number } = await sandbox.emit.sms({ announce: false });
    const answer = await deliver('AccountSMS', { id, direction: 'received', fromNumber: number, toNumber: line });
    const { delivery } = (await answer.json()) as { delivery: string };
    await settled();
    const before = requestsOf(delivery).length;
    expect(before).toBeGreaterThan(0);
    const { database, notifier, pauses } = context;
    await replayDelivery({ db: database.db, pauses, notify: notifier.notify }, delivery);
    await settled();
    expect(requestsOf(delivery).length).toBeGreaterThan(before);
  });
});
