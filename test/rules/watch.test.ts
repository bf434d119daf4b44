import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type RulesInForce, type WatchedRules, watchRules } from '../../src/rules/file/watch.ts';
import { createLog } from '../../src/shared/log.ts';
import { until } from '../world.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const rule = (name: string) => `rules: [{ name: ${name}, on: call_missed, do: [{ resolve: true }] }]\n`;

async function watched(text: string | null): Promise<{ path: string; rules: WatchedRules; told: RulesInForce[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-rules-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'rules.yaml');
  if (text !== null) await writeFile(path, text);
  const told: RulesInForce[] = [];
  const rules = await watchRules({
    path,
    timeZone: 'UTC',
    log: createLog('silent'),
    pollMs: 400,
    onChange: (current) => told.push(current),
  });
  closing.push(() => rules.close());
  return { path, rules, told };
}

const inForce = ({ current }: WatchedRules) => current.set?.rules[0]?.name;

test.each([
  ['empties it first', (path: string) => writeFile(path, '')],
  ['takes it away first', (path: string) => rm(path)],
])('whoever writes the file and %s is waited for, and no mistake is told', async (_what, begin) => {
  const { path, rules, told } = await watched(rule('first'));
  await begin(path);
  await sleep(250);
  await writeFile(path, rule('second'));
  await until(async () => inForce(rules) === 'second');
  expect(told.map(({ problem }) => problem)).toEqual([undefined, undefined]);
});

test.each([
  ['stays empty', (path: string) => writeFile(path, ''), '`rules` is missing'],
  ['is gone', (path: string) => rm(path), 'cannot be read (ENOENT)'],
])('a file that %s is told of once, and the rules before it stay', async (_what, change, problem) => {
  const { path, rules, told } = await watched(rule('first'));
  await change(path);
  await until(async () => rules.current.problem !== undefined);
  await sleep(1_000);
  expect(told).toHaveLength(2);
  expect(rules.current.problem).toContain(problem);
  expect(inForce(rules)).toBe('first');
});

test('a file that is missing at the start is told of at once, and found when it comes', async () => {
  const { path, rules } = await watched(null);
  expect(rules.current.problem).toContain('Set RULES_FILE');
  await writeFile(`${path}.new`, rule('first'));
  await rename(`${path}.new`, path);
  await until(async () => inForce(rules) === 'first');
  expect(rules.current.problem).toBeUndefined();
});
