import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type SandboxAccess, startWeb, startWorker } from './daemon.ts';
import type { Rig } from './rig.ts';
import { type Backend, backends } from './stores.ts';

/** A daemon at work: web and worker as processes of their own, on a database of their own. */
export interface Mirror {
  readonly backend: Backend;
  readonly databaseUrl: string;
  /** Address of its receiver. */
  readonly web: string;
  readonly client: Client;
}

/** Starts one daemon for each backend, all on one sandbox, and waits until they know the account's lines. */
export async function startMirrors(
  rig: Rig,
  bench: string,
  sandbox: SandboxAccess,
  stack: AsyncDisposableStack,
): Promise<readonly Mirror[]> {
  const mirrors: Mirror[] = [];
  for (const backend of backends) {
    const databaseUrl = await rig.stores.database(`${bench}_${backend}`);
    const stores = { databaseUrl, redisUrl: rig.stores.redisUrl(backend) };
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    stack.defer(() => client.end());
    stack.use(await startWorker(stores, sandbox, rig.profileFolder));
    // The receiver reads the lines once when it starts.
    await until(async () => (await client.query('select from warehouse.sms_lines')).rowCount !== 0);
    const web = stack.use(await startWeb(stores, rig.profileFolder));
    mirrors.push({ backend, databaseUrl, web: web.ready, client });
  }
  return mirrors;
}

const longest = 30_000;

/** Waits for something to become true; throws when it takes more than half a minute. */
async function until(isSo: () => Promise<boolean>, pauseMs = 20): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > longest) throw new Error(`This never became true: ${isSo}`);
    await sleep(pauseMs);
  }
}

/** Waits until nothing is owed a read that is due. */
export function untilQuiet({ client }: Mirror): Promise<void> {
  return until(async () => {
    const { rowCount } = await client.query(
      'select from ops.sync_targets where dirty_version > clean_version and due_at < now() limit 1',
    );
    return rowCount === 0;
  });
}
