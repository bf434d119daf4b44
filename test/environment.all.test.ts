import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ofAnAccount } from './account-variables.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

test.each([
  ['npm test', ['test/run.ts']],
  [
    'vitest itself',
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--project=embedded'],
  ],
])('%s touches nothing that the shell names', async (_, args) => {
  let touched = 0;
  const trap = createServer((socket) => {
    touched += 1;
    socket.destroy();
  });
  trap.listen(0, '127.0.0.1');
  await once(trap, 'listening');
  onTestFinished(() => void trap.close());
  const { port } = trap.address() as AddressInfo;
  const url = (scheme: string) => `${scheme}://trap:trap@127.0.0.1:${port}/trap`;
  const env = {
    ...Object.fromEntries(ofAnAccount.map((name) => [name, url('http')])),
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATABASE_URL: url('postgres'),
    REDIS_URL: url('redis'),
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    // As a shell has it that loads an .env file into each Node process.
    NODE_OPTIONS: `--import=data:text/javascript,process.env.DATABASE_URL??='${url('postgres')}'`,
  };
  const words = [...args, 'test/environment.test.ts', '--testNamePattern', 'has nothing of the account'];
  const { stdout } = await run(process.execPath, words, { cwd: root, env });
  expect(stdout).toMatch(/1 passed/);
  expect(touched).toBe(0);
});
