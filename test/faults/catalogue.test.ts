import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { campaigns } from './catalogue/campaigns.ts';
import { faults } from './catalogue/faults.ts';
import { type Injection, injections } from './catalogue/injections.ts';

describe.each(Object.entries(faults))('of %s', (group, names) => {
  const found = injections[group as keyof typeof injections] as Readonly<Record<string, Injection>>;

  test('every fault has a test, and no test is named for a fault that is not listed', () => {
    expect(Object.keys(found).sort()).toEqual([...names].sort());
  });

  test.each([...names])('%s is injected by the test that is named for it', async (name) => {
    const injection = found[name] as Injection;
    const source = await readFile(new URL(`../${injection.file}`, import.meta.url), 'utf8');
    expect(source).toContain(injection.test);
    expect(source, 'a test that is skipped injects nothing').not.toMatch(/\b(?:test|describe)\.(?:skip|todo)\b/);
  });
});

test.each(Object.entries(campaigns))('the test files of the campaign %s exist', (_name, files) => {
  expect(files.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([]);
});
