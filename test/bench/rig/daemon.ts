import { mkdir } from 'node:fs/promises';
import { type Running, startNode, urlIn } from './processes.ts';

/** As the Procfile and npm start them: a young generation of more than 32 MB takes memory and makes nothing faster. */
const asInProduction = ['--max-semi-space-size=16', 'src/trunkline.cjs'];

export const secret = 'bench-secret-0123456789';

export interface DaemonStores {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
}

export interface SandboxAccess {
  readonly url: string;
  readonly apiKey: string;
}

/** `trunkline web`; ready is its address. */
export async function startWeb(stores: DaemonStores, profileFolder?: string): Promise<Running<string>> {
  return startNode(
    [...(await profiling(profileFolder, `web-${backendOf(stores)}`)), ...asInProduction, 'web'],
    { ...environmentOf(stores), PORT: '0', HOST: '127.0.0.1', WEBHOOK_SECRET: secret },
    urlIn,
  );
}

/** `trunkline worker` on all queues. */
export async function startWorker(
  stores: DaemonStores,
  { url, apiKey }: SandboxAccess,
  profileFolder?: string,
): Promise<Running<true>> {
  return startNode(
    [...(await profiling(profileFolder, `worker-${backendOf(stores)}`)), ...asInProduction, 'worker'],
    { ...environmentOf(stores), API_BASE_URL: url, API_KEY: apiKey },
    (line) => line.includes('The worker processes its queues') || undefined,
  );
}

/** `trunkline sandbox` in which nothing happens by itself, with further options of that command. */
export function startSandbox(...options: string[]): Promise<Running<SandboxAccess>> {
  return startNode(['src/trunkline.cjs', 'sandbox', '--port', '0', '--no-traffic', '--json', ...options], {}, (line) =>
    line.startsWith('{"url"') ? (JSON.parse(line) as SandboxAccess) : undefined,
  );
}

/** Where the deliveries of a type go. */
export function hookOf(web: string, type: 'AccountSMS' | 'AccountEndedCalls'): string {
  return `${web}/hooks/${secret}/${type}`;
}

function backendOf({ redisUrl }: DaemonStores): string {
  return redisUrl === undefined ? 'postgres' : 'redis';
}

function environmentOf({ databaseUrl, redisUrl }: DaemonStores): Record<string, string | undefined> {
  return { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, LOG_LEVEL: 'info' };
}

async function profiling(folder: string | undefined, name: string): Promise<string[]> {
  if (folder === undefined) return [];
  await mkdir(folder, { recursive: true });
  return ['--cpu-prof', '--cpu-prof-dir', folder, '--cpu-prof-name', `${name}-${Date.now()}.cpuprofile`];
}
