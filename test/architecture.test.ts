import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = ['src', 'workers', 'config', 'migrations', 'test'].flatMap(filesUnder);
const sources = files.filter((file) => file.endsWith('.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Type imports count too: whoever reads a file has to know what its types come from. */
const statement =
  /^\s*(?:import|export)\s+[^'";]*?from\s+'(\.[^']+)'|^\s*import\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

function importsOf(from: string): Import[] {
  return [...(texts.get(from) ?? '').matchAll(statement)].map((match) => {
    const path = match[1] ?? match[2] ?? match[3] ?? '';
    const to = relative(root, resolve(root, dirname(from), path))
      .split(sep)
      .join('/');
    return { from, to };
  });
}

const imports = sources.flatMap(importsOf);
const shown = ({ from, to }: Import) => `${from} imports ${to}`;
const within = (folder: string) => (file: string) => file === folder || file.startsWith(`${folder}/`);

/** From the bottom to the top: whoever stands in one row may import from the rows above it and from its own folder. */
const layers: readonly (readonly string[])[] = [
  ['src/shared', 'package.json'],
  ['config'],
  ['src/db'],
  ['src/api-client', 'src/webhooks', 'src/queues', 'src/notify', 'src/warehouse', 'src/sandbox'],
  ['src/inbox', 'src/credentials'],
  ['src/sync', 'src/completeness', 'src/privacy', 'src/rules', 'src/ledger', 'src/reporting', 'src/context.ts'],
  ['src/migrations.ts', 'src/processes', 'src/trace.ts'],
  ['src/checks'],
  ['src/alerts'],
  ['src/actions'],
  ['src/server'],
  ['workers', 'src/local'],
  ['src/cli'],
  ['src/main.ts'],
  ['test'],
];

/** Parts of one layer that know each other, and why. */
const neighbours = new Map([
  ['src/shared', ['package.json']], // it says the version
  ['src/warehouse', ['src/api-client']], // it mirrors the service's entities
  ['src/rules', ['src/ledger']], // rules plan what the ledger sends
  ['src/reporting', ['src/rules']], // reports count by the hours of the rules in force
]);

function placeOf(file: string): { height: number; part: string } | undefined {
  for (const [height, parts] of layers.entries()) {
    const part = parts.find((each) => within(each)(file));
    if (part !== undefined) return { height, part };
  }
  return undefined;
}

describe('the layers', () => {
  test('have a place for every source', () => {
    expect(sources.filter((file) => placeOf(file) === undefined)).toEqual([]);
  });

  test('are imported downwards only', () => {
    const upwards = imports.filter((each) => {
      const [from, to] = [placeOf(each.from), placeOf(each.to)];
      if (!from || !to || from.part === to.part || to.height < from.height) return false;
      return !neighbours.get(from.part)?.includes(to.part);
    });
    expect(upwards.map(shown)).toEqual([]);
  });

  test('leave the workers to the entry', () => {
    const reached = imports.filter(({ from, to }) => within('src')(from) && within('workers')(to));
    expect(reached.filter(({ from }) => from !== 'src/main.ts').map(shown)).toEqual([]);
  });

  test('leave the sandbox to the all-in-one start, the command line and the tests', () => {
    const allowed = ['src/sandbox', 'src/local', 'src/cli', 'test'].map(within);
    const reached = imports.filter(({ from, to }) => within('src/sandbox')(to) && !allowed.some((is) => is(from)));
    expect(reached.map(shown)).toEqual([]);
  });

  test('keep the sandbox apart from what it stands in for', () => {
    const neutral = ['src/shared/json.ts', 'src/shared/bounded.ts']; // they know nothing of the service
    const reached = imports.filter(
      ({ from, to }) => within('src/sandbox')(from) && !within('src/sandbox')(to) && !neutral.includes(to),
    );
    expect(reached.map(shown)).toEqual([]);
  });

  test('keep tests out of the program', () => {
    expect(imports.filter(({ from, to }) => !within('test')(from) && within('test')(to)).map(shown)).toEqual([]);
  });
});

test('only the ledger sends', () => {
  const allowed = ['src/ledger', 'src/api-client', 'src/sandbox'].map(within);
  const senders = sources.filter(
    (file) =>
      !within('test')(file) &&
      !allowed.some((is) => is(file)) &&
      /\bmessages\s*\??\.\s*send\b|\/sms\/messages/.test(texts.get(file) ?? ''),
  );
  expect(senders).toEqual([]);
  const handsOut = sources.filter(
    (file) => !within('test')(file) && /\bservice\??\.messages\b/.test(texts.get(file) ?? ''),
  );
  expect(handsOut).toEqual(['workers/sends.ts']);
});

test('every file has the name of a thing of the domain', () => {
  const nameless = /^(utils?|helpers?|misc|common|lib|stuff|base|manager|index)$/;
  const words = (file: string) => file.replace(/\.[a-z.]+$/, '').split(/[/.-]/);
  expect(files.filter((file) => words(file).some((word) => nameless.test(word)))).toEqual([]);
});

test('what a test draws can be drawn again', () => {
  const exempt = new Set(['test/draws.ts', 'test/architecture.test.ts']);
  const drawing = sources.filter(
    (file) => within('test')(file) && !exempt.has(file) && texts.get(file)?.includes('Math.random'),
  );
  expect(drawing).toEqual([]);
});

test('nothing is exported by default or in an enum', () => {
  const exempt = new Set(['test/vitest.config.ts', 'test/stores/setup.ts']);
  const odd = sources.filter(
    (file) => !exempt.has(file) && /^\s*(?:export default|(?:export )?(?:const )?enum )/m.test(texts.get(file) ?? ''),
  );
  expect(odd).toEqual([]);
});
