import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { settingsRows } from '../../config/settings.ts';
import { createProgram } from '../../src/cli/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFile(join(root, file), 'utf8');
const json = async (file: string) => JSON.parse(await read(file));
const yaml = async (file: string) => parse(await read(file), { merge: true });

const program = createProgram({ startWorkers: () => Promise.reject(new Error('no command runs here')) });
const commands = program.commands.map((each) => each.name());
const settings = settingsRows().map(({ name }) => name as string);
/** What a recipe may set beside Trunkline's own settings. */
const ofOthers = ['PGSSLMODE', 'NODE_VERSION'];

const manifest = await json('package.json');
const compose = await yaml('compose.yaml');
const heroku = await json('app.json');
const render = await yaml('render.yaml');
const fly = await read('fly.toml');
const dockerfile = await read('Dockerfile');
const procfile = Object.fromEntries(
  (await read('Procfile'))
    .trim()
    .split('\n')
    .map((line) => line.split(/: (.*)/)),
);
const units = await Promise.all(
  (await readdir(join(root, 'config/systemd'))).map(async (name) => [name, await read(`config/systemd/${name}`)]),
);

/** The first word after `src/trunkline.cjs` or `npm run trunkline --` of a line. */
const commandOf = (line: string) => /(?:trunkline\.cjs|trunkline --) (\w+)/.exec(line)?.[1];
const renderOf = (type: string) => render.services.find((each: { type: string }) => each.type === type);
const namesOf = (envVars: readonly { key: string }[]) => envVars.map(({ key }) => key);

test.each<[string, readonly (string | undefined)[]]>([
  ['Procfile', Object.values<string>(procfile).map(commandOf)],
  [
    'compose.yaml',
    Object.values<{ build?: object; command: string[] }>(compose.services).flatMap((each) =>
      each.build ? each.command.slice(0, 1) : [],
    ),
  ],
  ['render.yaml', ['web', 'worker'].map((type) => commandOf(renderOf(type).startCommand))],
  ['render.yaml, before the start', [commandOf(renderOf('web').preDeployCommand)]],
  ['fly.toml', [...fly.matchAll(/^(?:web|worker|release_command) = "(\w+)"$/gm)].map(([, name]) => name)],
  ['Dockerfile', [/^CMD \["(\w+)"\]$/m.exec(dockerfile)?.[1]]],
  ...units.map(([name = '', text = '']): [string, (string | undefined)[]] => [
    name,
    text.match(/^ExecStart\w*=.*$/gm)?.map(commandOf) ?? [],
  ]),
])('%s runs commands that exist', (_, named) => {
  expect(named.length).toBeGreaterThan(0);
  expect(commands).toEqual(expect.arrayContaining([...named]));
});

test('compose gives Grafana every file and variable that its provisioning asks for', async () => {
  const { environment, volumes } = compose.services.grafana;
  const mounts: string[] = volumes.filter((each: string) => each.startsWith('./'));
  for (const mount of mounts) expect(existsSync(join(root, mount.split(':')[0] ?? '')), mount).toBe(true);
  const source = await read('config/grafana/provisioning/datasources/trunkline.yaml');
  const asked = [...source.matchAll(/\$(\w+)/g)].map(([, name]) => name);
  expect(Object.keys(environment)).toEqual(expect.arrayContaining(asked));
  expect(compose.services['bi-role'].command).toContain(environment.TRUNKLINE_DB_USER);
  // The socket is the superuser's: Postgres asks for no password there.
  expect(volumes.join()).not.toContain('socket');
  expect(environment.TRUNKLINE_DB_HOST).toBe('postgres:5432');
});

describe.each<[string, { web: readonly string[]; worker: readonly string[] }]>([
  [
    'compose.yaml',
    { web: Object.keys(compose.services.web.environment), worker: Object.keys(compose.services.worker.environment) },
  ],
  // Platforms set DATABASE_URL by their add-on, and the Procfile sets HOST.
  [
    'app.json',
    { web: [...Object.keys(heroku.env), 'DATABASE_URL'], worker: [...Object.keys(heroku.env), 'DATABASE_URL'] },
  ],
  ['render.yaml', { web: namesOf(renderOf('web').envVars), worker: namesOf(renderOf('worker').envVars) }],
  [
    'config/env.example',
    await read('config/env.example').then((text) => {
      const names = [...text.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name = '']) => name);
      return { web: names, worker: names };
    }),
  ],
])('%s', (_, { web, worker }) => {
  test('names settings that exist', () => {
    expect([...settings, ...ofOthers]).toEqual(expect.arrayContaining([...web, ...worker]));
  });

  test('names what each process needs', () => {
    const both = ['API_BASE_URL', 'API_KEY', 'DATABASE_URL', 'ENCRYPTION_KEY'];
    expect(web).toEqual(expect.arrayContaining([...both, 'ADMIN_TOKEN', 'PUBLIC_URL', 'WEBHOOK_SECRET']));
    expect(worker).toEqual(expect.arrayContaining(both));
  });
});

test('a port is found where a health check and a proxy expect it', () => {
  expect(renderOf('web').healthCheckPath).toBe('/healthz');
  expect(fly).toContain('path = "/healthz"');
  expect(dockerfile).toContain('config/container-health.cjs');
  const port = String(settingsRows().find(({ name }) => name === 'PORT')?.fallback);
  expect(fly).toContain(`internal_port = ${port}`);
  expect(dockerfile).toContain(`EXPOSE ${port}`);
  expect(compose.services.web.ports).toEqual([expect.stringMatching(`^127\\.0\\.0\\.1:.*:${port}$`)]);
});

test('the health check of the image asks the port of the command that runs, if it has one', async () => {
  await using web = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(web, 'listening');
  const open = String((web.address() as AddressInfo).port);
  const script = join(root, 'config/container-health.cjs');
  const cases: [string, NodeJS.ProcessEnv, boolean][] = [
    ['web', { PORT: open, WORKER_PORT: '1' }, true],
    ['web', { PORT: '1', WORKER_PORT: open }, false],
    ['worker', { PORT: '1', WORKER_PORT: open }, true],
    ['worker', { WORKER_PORT: '1' }, false],
    ['worker', { PORT: '1' }, true],
    ['worker', { WORKER_PORT: 'tcp://10.0.0.5:80' }, true],
  ];
  for (const [command, env, isHealthy] of cases) {
    const asked = promisify(execFile)(process.execPath, [script, `node src/trunkline.cjs ${command}`], { env });
    const isOk = asked.then(Boolean, () => false);
    expect([command, env, await isOk]).toEqual([command, env, isHealthy]);
  }
});

test('the image holds what its build is given, and runs on the same Node', async () => {
  const copied = [...dockerfile.matchAll(/^COPY ((?:[\w.-]+ )+)\S+$/gm)].flatMap(([, paths = '']) =>
    paths.trim().split(' '),
  );
  const sent = (await read('.dockerignore')).match(/(?<=^!).+$/gm);
  expect(new Set(copied)).toEqual(new Set(sent));
  for (const path of copied) expect(existsSync(join(root, path)), path).toBe(true);
  const [, major] = /^\^(\d+)\./.exec(manifest.dependencies.node) ?? [];
  for (const [, base] of dockerfile.matchAll(/^FROM node:(\S+)/gm)) expect(base).toMatch(`${major}-`);
  expect(renderOf('web').envVars).toContainEqual({ key: 'NODE_VERSION', value: major });
});

test('the workflow runs everything once, with scripts that exist', async () => {
  const { jobs } = await yaml('.github/workflows/ci.yml');
  expect(jobs.test.steps).toContainEqual({ run: '.ci/run' });
  const scripts = [...(await read('.ci/run')).matchAll(/^npm (?:run )?(\S+)$/gm)].map(([, script = '']) => script);
  expect(scripts).toEqual(['ci', 'check', 'test', 'test:all']);
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(scripts.slice(1)));
  expect(jobs.image.steps).toContainEqual(expect.objectContaining({ with: expect.objectContaining({ sbom: true }) }));
  expect((await json('.github/renovate.json')).extends).toContain('config:recommended');
});
