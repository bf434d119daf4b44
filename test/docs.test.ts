import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { factsDatabase } from './reporting/facts.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string) => readFile(join(root, file), 'utf8');
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
];
const database = await factsDatabase();

test('the changelog describes the version of package.json first', async () => {
  const { version } = JSON.parse(await read('package.json'));
  expect((await read('CHANGELOG.md')).match(/^## (\S+)/m)?.[1]).toBe(version);
});

test('the README stays short', async () => {
  expect((await stat(join(root, 'README.md'))).size).toBeLessThanOrEqual(10_000);
});

/** The anchor that a heading gets on a code host. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

test.each(pages)('links in %s lead somewhere', async (page) => {
  const text = await read(page);
  const broken: string[] = [];
  for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, target))) broken.push(link);
    else if (anchor !== undefined) {
      const headings = [...(await read(target)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
      if (!headings.includes(anchor)) broken.push(link);
    }
  }
  expect(broken).toEqual([]);
});

const samples = [...(await read('docs/reporting.md')).matchAll(/```sql\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block.split(/;\s*\n/).filter((statement) => statement.trim() !== ''),
);

test.each(samples)('the sample query runs: %s', async (statement) => {
  await expect(database.query(statement)).resolves.toBeInstanceOf(Array);
});

test('there are sample queries to run', () => {
  expect(samples.length).toBeGreaterThan(0);
});

/** Paths in code spans, such as `src/main.ts` or `migrations/views/`. */
const pathsIn = (text: string) =>
  [...text.matchAll(/`((?:src|workers|config|migrations|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);

test.each(pages)('the paths in %s exist', async (file) => {
  const planned = ['migrations/0007_subject.sql'];
  expect(pathsIn(await read(file)).filter((path) => !planned.includes(path) && !existsSync(join(root, path)))).toEqual(
    [],
  );
});
