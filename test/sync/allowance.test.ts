import { expect, onTestFinished, test } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import { markDirty, unconfirmed } from '../../src/inbox/targets.ts';
import { createSync } from '../../src/sync/sync.ts';
import { migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { startOddService } from '../world/service.ts';
import { callId, shownCall } from './call-service.ts';

/** As docs/operations.md states it, of one worker process. */
const places = 360;

test('places for reads of unconfirmed targets come back when Postgres fails as the others are given back', async () => {
  const { db, query, ...database } = await migratedDatabase();
  const service = await startOddService();
  const { log } = captureLog();
  const client = createService({ baseUrl: service.url, apiKey: 'key', log, limits: { perOperation: 50 } });
  onTestFinished(async () => {
    await client.close();
    await service[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  const sync = createSync({
    ...{ db, service: client, log, now: () => new Date(), notify: () => undefined },
  });
  /** Has more new calls read than there are places. Resolves to how many were mirrored. */
  async function readFlood(): Promise<number> {
    const answering = Promise.withResolvers<void>();
    service.answer = async ({ path }) => {
      await answering.promise;
      return { data: shownCall(path.split('/')[2] ?? '', { recorded: false, status: 'missed', legs: [] }) };
    };
    const flood = Array.from({ length: places + 40 }, () => ({ kind: 'call', key: callId() }) as const);
    const marked = flood.map((target) => ({ ...target, priority: unconfirmed.single }));
    await markDirty(db, marked);
    let ended = 0;
    const reads = flood.map(async () => {
      const outcome = await sync.readNext('calls', new AbortController().signal).catch(() => undefined);
      ended += 1;
      return outcome;
    });
    // Those without a place end before the service answers.
    await expect.poll(() => ended).toBeGreaterThanOrEqual(40);
    answering.resolve();
    return (await Promise.all(reads)).filter((outcome) => outcome === 'mirrored').length;
  }
  await query(`
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$;
    create trigger refuse before update on ops.sync_targets for each row
      when (new.priority > old.priority) execute function public.refuse();`);
  await readFlood();
  await query('drop trigger refuse on ops.sync_targets');
  expect(await readFlood()).toBe(places);
});
