import { once } from 'node:events';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { program, root } from '../program.ts';

const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const launcher = join(root, manifest.bin.trunkline);
const versionLine = new RegExp(`^${manifest.version} \\(commit [0-9a-f]{12}, schema \\d{4}_\\w+\\)\n?$`);

/** Flags that make this Node pass for an older one, with or without what Node 22.15 brought. */
const as = (version: string, hasExecve: boolean) => [
  `--import=data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process.versions, 'node', { value: '${version}' });
     if (!${hasExecve}) process.execve = undefined;`,
  )}`,
];
const olderNodes = [
  ['20.1.0', as('20.1.0', false)],
  ['22.21.0', as('22.21.0', true)],
] as const;

const start = (...args: readonly string[]) => program(args, {}, { command: [process.execPath], cwd: tmpdir() });
async function run(...args: readonly string[]) {
  const { ended, out, err } = start(...args);
  return { code: await ended, out: out(), err: err() };
}

test('production is installed with Node 24', () => {
  expect(manifest.dependencies.node).toMatch(/^\^24\./);
});

test.each([['24', []] as const, ...olderNodes])(
  'the command works under Node %s, with its exit codes',
  async (_, flags) => {
    const version = await run(...flags, launcher, '--version');
    expect(version).toEqual({ code: 0, out: expect.stringMatching(versionLine), err: '' });
    const unknown = await run(...flags, launcher, 'nonsense');
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining("unknown command 'nonsense'") });
  },
);

test('code that loads the launcher is not run again by the newer Node', async () => {
  const code = `Object.defineProperty(process.versions, 'node', { value: '20.1.0' }); console.log('loading'); require(process.argv[1])`;
  const { out } = await run('-e', code, launcher, '--version');
  expect(out.split('\n')).toEqual(['loading', expect.stringMatching(versionLine), '']);
});

test.each(olderNodes)('a stop reaches what runs under Node %s', async (_, flags) => {
  const sandbox = start(...flags, launcher, 'sandbox', '--port', '0', '--no-traffic', '--json');
  await expect.poll(sandbox.out).toContain('\n');
  const { url } = JSON.parse(sandbox.out());
  await expect(fetch(url)).resolves.toBeDefined();
  expect(await sandbox.stop()).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test('an older Node without a newer one beside it gets one sentence', async () => {
  const alone = await temporaryFolder();
  await mkdir(join(alone, 'src'));
  await copyFile(launcher, join(alone, 'src/trunkline.cjs'));
  const { code, out, err } = await run(...as('18.20.0', false), join(alone, 'src/trunkline.cjs'), 'status');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^Trunkline needs Node 24 or newer and this is Node 18\.20\.0: run `npm ci` in .*\n$/);
});

test.each([
  ['where npm cannot write, remedies name the path of the program', {}, `node ${join(root, 'src/trunkline.cjs')}`],
  ['a container names its own command', { TRUNKLINE_COMMAND: 'trunkline' }, 'trunkline'],
])('%s', async (_, environment, name) => {
  const help = program(['status', '--help'], { HOME: '/dev/null/home', ...environment });
  await help.ended;
  expect(help.out()).toContain(`Usage: ${name} status`);
});

test('npx finds the program of the checkout, without a registry', async () => {
  const environment = { npm_config_registry: 'http://127.0.0.1:1', npm_config_update_notifier: 'false' };
  const npx = program(['trunkline', '--version'], environment, { command: ['npx'], cwd: join(root, 'docs') });
  expect(await npx.ended).toBe(0);
  expect(npx.out()).toMatch(/^\d+\.\d+\.\d+ \(commit /);
});

test('a process ends whose event loop is stuck, and none that only waits', async () => {
  const script = `
    import { startHeartbeat } from ${JSON.stringify(join(root, 'src/processes/heartbeat.ts'))};
    startHeartbeat(console, 2);
    setTimeout(() => { console.log('waited'); for (;;); }, 4_000);`;
  const stuck = program(['--input-type=module', '--eval', script], {}, { command: [process.execPath] });
  const [, signal] = await once(stuck.process, 'close');
  expect([signal, stuck.out()]).toEqual(['SIGKILL', 'waited\n']);
  expect(stuck.err()).toContain('The event loop was stuck for 2 s');
});
