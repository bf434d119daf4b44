import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { findRunning } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';
import { trunkline } from '../credentials/commands.ts';
import { createPart, type Part } from '../faults/deployment/part.ts';
import { freePort } from '../faults/deployment/ports.ts';
import { openForSuite } from '../faults/deployment/suite.ts';

/* What the README has one do first, in processes of their own. All else about processes is in *.all.test.ts. */

// A start from nothing makes a database, a third of a minute beside other tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

type OnOpen = Parameters<typeof createPart>[1];

async function start(onOpen: OnOpen): Promise<{ folder: string; part: Part }> {
  const folder = await temporaryFolder(onOpen);
  const env = { DATA_DIR: folder, PORT: String(await freePort()) };
  const part = createPart({ name: 'start', args: ['start', '--json'], env, readyWords: '"databaseUrl"' }, onOpen);
  await part.start();
  return { folder, part };
}

const opened = openForSuite(start);

test.each(['status', 'doctor', 'coverage'])('beside a running start, `trunkline %s` tells of it', async (words) => {
  const command = trunkline({ DATA_DIR: opened().folder }, ...words.split(' '), '--json');
  // 1 says that something is wrong, as a mirror that lags beside a loaded machine.
  expect([0, 1], command.err()).toContain(await command.ended);
  expect(JSON.parse(command.out())).toBeInstanceOf(Object);
  expect(command.err()).toBe(
    `Using the settings and the sandbox of the running \`DATA_DIR=${opened().folder} npx trunkline start\`.\n`,
  );
});

test('a running start takes a delivery of its account, and nobody else’s', async () => {
  const { PUBLIC_URL: publicUrl, WEBHOOK_SECRET: webhookSecret } =
    (await findRunning(opened().folder))?.environment ?? {};
  const body = JSON.stringify({ callId: '1700000001.5', callerNumber: '18455550123' });
  const send = (secret = '') =>
    fetch(`${publicUrl}/hooks/${secret}/AccountEndedCalls`, { method: 'POST', body }).then(({ status }) => status);
  expect(await send(webhookSecret)).toBe(202);
  expect(await send('a-guess-of-somebody-else-0123456789')).toBe(404);
});

test('a start that is killed goes on with its data, and a stop ends it and its Postgres', async () => {
  const { folder, part } = await start(onTestFinished);
  const ask = async (text: string) => {
    const client = new Client({ connectionString: (await findRunning(folder))?.environment.DATABASE_URL });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  await ask('create table kept as select 7 as number');
  await part.crash();
  await part.start();
  expect(await ask('select number from kept')).toEqual([{ number: 7 }]);
  const databaseUrl = (await findRunning(folder))?.environment.DATABASE_URL;
  part.signal('SIGTERM');
  expect(await part.ended()).toEqual({ code: 0, signal: null });
  await expect(new Client({ connectionString: databaseUrl }).connect()).rejects.toThrow('ECONNREFUSED');
});

test.each([
  [['--version'], 0, manifest.version, ''],
  [['worker'], 2, '', 'DATABASE_URL is missing'],
  [['nothing'], 2, '', 'unknown command'],
])('`trunkline %j` ends with %i', async (args, code, out, err) => {
  const command = trunkline({}, ...args);
  expect(await command.ended, command.err()).toBe(code);
  expect(command.out().split(' ')[0]).toBe(out);
  expect(command.err()).toContain(err);
});
