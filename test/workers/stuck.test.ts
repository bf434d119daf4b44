import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { inherited } from '../inherited.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { asOwner, createWorld, until } from '../world.ts';

const world = await createWorld({ backend: 'postgres', workers: null });
afterAll(() => world.close());
const { sandbox, query, value } = world;

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Several processes, each of which may take as long as a condition. */
const timeout = 3 * conditionTimeoutMs;

interface WorkerProcess {
  readonly child: ChildProcess;
  readonly output: () => string;
}

function startWorker(): WorkerProcess {
  const child = spawn(process.execPath, ['--require', pathOf('poison.cjs'), pathOf('worker-process.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inherited,
      DATABASE_URL: world.context.settings.databaseUrl,
      API_BASE_URL: sandbox.url,
      API_KEY: sandbox.apiKey,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return { child, output: () => output };
}

const isGone = ({ child }: WorkerProcess) => child.exitCode !== null || child.signalCode !== null;
const isMirrored = (words: string) =>
  value('select count(*) > 0 from warehouse.sms_messages where body like $1', `%${words}%`);
const keyOf = ({ line, number }: { line: string; number: string }) => `${line}/${number}`;

/** Starts workers one after another until one lives and has read what came after the text. Returns those that died. */
async function workUntilMirrored(words: string): Promise<WorkerProcess[]> {
  const died: WorkerProcess[] = [];
  for (;;) {
    const worker = startWorker();
    await until(async () => isGone(worker) || (await isMirrored(words)) === true, worker.output);
    // Whatever is still to be read would end it now.
    if (!isGone(worker)) {
      await until(async () => isGone(worker) || (await value(unread)) === 0, worker.output);
    }
    if (!isGone(worker)) return died;
    died.push(worker);
    expect(died.length).toBeLessThan(5);
  }
}

const unread = `select count(*)::int from ops.sync_targets
  where dirty_version > clean_version and kind = 'thread' and due_at < now() + interval '10 seconds'`;

describe('a text that hangs the event loop of whoever reads it', () => {
  test('is set aside after two processes, named with its remedy, and others are read', { timeout }, async () => {
    const bad = await sandbox.emit.sms({ text: 'hang the loop', number: '15550001111' });
    for (let at = 0; at < 10; at += 1) await sandbox.emit.sms({ text: `innocent ${at}`, number: `1555000222${at}` });
    const died = await workUntilMirrored('innocent 9');
    expect(died.map(({ child }) => child.signalCode)).toEqual(['SIGKILL', 'SIGKILL']);
    for (const { output } of died) {
      expect(output()).toContain('The event loop was stuck for 4 s');
      expect(output()).toMatch(/"work":\["thread [^"]*"\],"stack":"[^"]*poison\.cjs/);
    }
    expect(
      await query(
        `select key, lost_reads, due_at > now() + interval '7 days' as waits from ops.sync_targets where lost_reads > 2`,
      ),
    ).toEqual([{ key: keyOf(bad), lost_reads: 3, waits: true }]);
    const status = await (await fetch(`${world.receiver.url}/api/status`, { headers: asOwner })).json();
    expect(status).toMatchObject({ verdict: { level: 'problem' } });
    expect(JSON.stringify(status)).toContain(`resync thread ${keyOf(bad)}`);
    expect(await value(`select count(*)::int from warehouse.sms_messages where body like 'innocent%'`)).toBe(10);
    await query('delete from ops.sync_targets where lost_reads > 0');
  });
});

describe('a text whose read ends its process', () => {
  test('is set aside once it was alone', { timeout }, async () => {
    const words = 'abort the process';
    const bad = await sandbox.emit.sms({ text: words, number: '15550003333' });
    await sandbox.emit.sms({
      text: `after ${words.replaceAll(' ', '-')}`,
      number: '15550005555',
    });
    const died = await workUntilMirrored(`after ${words.replaceAll(' ', '-')}`);
    // A crowd of reads dies once more with it, when its process leaves no word.
    expect(died.length).toBeLessThan(4);
    expect(new Set(died.map(({ child }) => child.signalCode))).toEqual(new Set(['SIGABRT']));
    expect(
      await query('select key, lost_reads from ops.sync_targets where lost_reads > 2 and claimed_until < now()'),
    ).toEqual([{ key: keyOf(bad), lost_reads: 3 }]);
    await query('delete from ops.sync_targets where lost_reads > 0');
  });
});
