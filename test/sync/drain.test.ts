import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { backends } from '../stores/backends.ts';
import { createWorld, until, type World } from '../world.ts';

const worlds = new Map<string, World>();
for (const backend of backends) worlds.set(backend, await createWorld({ backend, workers: null }));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

describe.each(backends)('on %s', (backend) => {
  const world = worlds.get(backend) as World;
  const { sandbox, value } = world;
  const isOwed = (id: string) =>
    value(`select dirty_version > clean_version from ops.sync_targets where kind = 'call' and key = $1`, id);
  const isBegun = async (id: string) =>
    (await value(`select read_at is not null from ops.sync_targets where kind = 'call' and key = $1`, id)) === true;
  const isMirrored = async (id: string) =>
    (await value('select count(*)::integer from warehouse.calls where call_id = $1', id)) === 1;

  test('workers that close finish the read in hand', async () => {
    const workers = await world.work();
    sandbox.faults({ kind: 'slow', when: 'before', ms: 400 });
    const { id } = await sandbox.emit.call({ status: 'missed', recorded: false });
    await until(() => isBegun(id));
    await workers.close(5_000);
    sandbox.faults();
    expect(await isMirrored(id)).toBe(true);
  });

  test('workers that close give up at their deadline, and those of another process read what was in hand', async () => {
    const { settings } = world.context;
    const other = await createWorld({
      backend,
      databaseUrl: settings.databaseUrl,
      ...(settings.redisUrl !== undefined && { redisUrl: settings.redisUrl }),
      api: { url: sandbox.url, key: sandbox.apiKey },
      workers: null,
    });
    onTestFinished(other.close);
    const workers = await world.work();
    await world.settled();
    sandbox.faults({ kind: 'slow', when: 'before', ms: 60_000 });
    const { id } = await sandbox.emit.call({ status: 'missed', recorded: false });
    await until(() => isBegun(id));
    const began = performance.now();
    await workers.close(300);
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(await isOwed(id)).toBe(true);
    sandbox.faults();
    await other.work();
    await until(() => isMirrored(id));
  });
});
