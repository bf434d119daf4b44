import './environment.ts';

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './browser.ts';
import { inherited } from './inherited.ts';

/* Makes the pictures of the README: `npm run pictures`, of a first start with the sandbox. It takes some minutes. */

const root = fileURLToPath(new URL('..', import.meta.url));
const maxWaitMs = 600_000;
const pages = [
  ['status', '/', 860],
  ['reports', '/reports', 1_220],
] as const;

const folder = await mkdtemp(join(tmpdir(), 'trunkline-pictures-'));
const env = {
  ...inherited,
  BACKFILL_DAYS: '90',
  DATA_DIR: folder,
  PORT: '0',
  TIME_ZONE: 'America/New_York',
  LOG_LEVEL: 'warn',
};
const daemon = spawn(process.execPath, ['src/trunkline.cjs', 'start', '--json'], {
  cwd: root,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(daemon, 'close');
try {
  const [said] = await once(daemon.stdout.setEncoding('utf8'), 'data');
  const { signInUrl, statusUrl } = JSON.parse(said) as { signInUrl: string; statusUrl: string };
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 }, deviceScaleFactor: 1 });
  await page.goto(signInUrl);
  await waitForHistory(async () => (await page.request.get(`${statusUrl}api/status`)).json());
  for (const [name, path, height] of pages) {
    await page.setViewportSize({ width: 1_280, height });
    await page.goto(new URL(path, statusUrl).href);
    await sleep(2_000);
    await page.screenshot({ path: join(root, 'docs/images', `${name}.png`) });
  }
  await browser.close();
} finally {
  daemon.kill('SIGINT');
  await ended;
  await rm(folder, { recursive: true, force: true });
}

async function waitForHistory(read: () => Promise<{ completeness: { value?: { isFillingIn: boolean } } }>) {
  const deadline = performance.now() + maxWaitMs;
  while ((await read()).completeness.value?.isFillingIn !== false) {
    if (performance.now() > deadline) throw new Error('The history was not filled in within ten minutes.');
    await sleep(2_000);
  }
  // The artefacts and the reports follow.
  await sleep(40_000);
}
