import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../src/local/postgres.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createLog } from '../../src/shared/log.ts';
import { temporaryFolder } from '../at-end.ts';
import { migrated, openDatabase } from '../world/database.ts';
import { openLedger } from './ledger-world.ts';

/** As some set Postgres up for speed: what was committed in the last seconds is gone after a crash. */
const forgetful = { synchronous_commit: 'off', wal_writer_delay: '10s' };

test('that a request may have left outlives a crash of Postgres, however that commits', async () => {
  const dataDir = await temporaryFolder();
  const options = { dataDir, log: createLog('silent'), settings: forgetful };
  const postgres = await startPostgres(options);
  await migrated(postgres.url);
  const before = openDatabase(postgres.url);
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  onTestFinished(() => sandbox.close());

  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => undefined);
  const send = () => {
    ask();
    return never;
  };
  const ledger = await openLedger(before, sandbox, { messages: { send } });
  const { sendId } = await ledger.answer();
  void ledger.dispatcher.advance(sendId);
  await asked;
  await postgres.stop('immediate');
  await before[Symbol.asyncDispose]();

  const recovered = await startPostgres(options);
  onTestFinished(() => recovered.stop());
  const after = openDatabase(recovered.url);
  onTestFinished(() => after[Symbol.asyncDispose]());
  expect(await after.value('select state from ops.sends where send_id = $1', sendId)).toBe('DISPATCHED');
});
