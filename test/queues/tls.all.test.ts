import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test, vi } from 'vitest';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { freePort, startRedis } from '../stores/redis.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const folder = await mkdtemp(join(tmpdir(), 'trunkline-tls-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const inFolder = (name: string) => join(folder, name);
const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

/** Makes `name.pem`, an authority of its own, with its key. */
function makeAuthority(name: string): void {
  openssl(
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`],
  );
}

makeAuthority('authority');
makeAuthority('stranger');
openssl(
  ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
  ...['-keyout', 'server.key', '-out', 'server.pem', '-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'],
  ...['-addext', 'basicConstraints=critical,CA:FALSE', '-CA', 'authority.pem', '-CAkey', 'authority.key'],
);
const port = await freePort();
const redis = await startRedis({
  port,
  dir: folder,
  args: [
    ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', '--tls-ca-cert-file'],
    ...[inFolder('authority.pem'), '--tls-cert-file', inFolder('server.pem'), '--tls-key-file', inFolder('server.key')],
  ],
});
afterAll(() => redis.stop());

async function withQueues<T>(
  query: string,
  work: (queues: Awaited<ReturnType<typeof createQueues>>) => Promise<T>,
): Promise<T> {
  const redisUrl = `rediss://127.0.0.1:${port}${query}`;
  const queues = await createQueues({ redisUrl, databaseUrl: inject('postgresUrl'), log: createLog('silent') });
  try {
    return await work(queues);
  } finally {
    await queues.close();
  }
}

test.each([`?sslrootcert=${inFolder('authority.pem')}`, '?sslmode=no-verify', '?rejectUnauthorized=false'])(
  'a Redis whose authority is private brings its jobs: %s',
  async (query) => {
    await withQueues(query, async (queues) => {
      const seen: unknown[] = [];
      const worker = queues.work('calls', {}, async (job) => void seen.push(job));
      await queues.enqueue('calls', [{ kind: 'call', key: '1783385492.057900' }]);
      await vi.waitUntil(() => seen.length > 0, { timeout: conditionTimeoutMs, interval: 10 });
      await worker.close(1_000);
    });
  },
);

test.each(['', '?sslmode=verify-full', `?sslrootcert=${inFolder('stranger.pem')}`])(
  'its certificate is refused without its authority, and the reason says what to do: %s',
  async (query) => {
    await withQueues(query, async (queues) => {
      expect(await queues.health()).toMatchObject({
        isReachable: false,
        reason: expect.stringContaining('name its authority with sslrootcert=FILE in REDIS_URL'),
      });
    });
  },
);
