import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkRulesFile } from '../../src/cli/lifecycle.ts';
import { trunkline } from '../credentials/commands.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trunkline-rules-file-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(text: string): Promise<string> {
  const file = join(folder, 'rules.yaml');
  await writeFile(file, text);
  return file;
}

const refusal = (file: string, RULES_FILE: string | undefined) =>
  checkRulesFile({ rulesFile: file, timeZone: 'UTC' }, { RULES_FILE });

test('a rules file that was named and is missing is a setting that cannot be used', async () => {
  const file = join(folder, 'nowhere.yaml');
  await expect(refusal(file, file)).rejects.toMatchObject({
    code: 'settings',
    problems: [`RULES_FILE names a file that cannot be used: ${file} cannot be read (ENOENT)`],
  });
});

test('one with a mistake shows its line and its cure', async () => {
  const file = await fileOf('rules:\n  - name: greet\n    on: message_recieved\n');
  await expect(refusal(file, file)).rejects.toMatchObject({
    code: 'settings',
    message: expect.stringMatching(/rules\.yaml:3:9: .*\n.*on: message_recieved\n.*\^/),
  });
});

test('a good one is taken, and one that nobody named is the workers’ affair', async () => {
  const file = await fileOf('rules: []\n');
  await expect(refusal(file, file)).resolves.toBeUndefined();
  await expect(refusal(join(folder, 'nowhere.yaml'), undefined)).resolves.toBeUndefined();
});

test.each(['start', 'worker'])('%s ends with 2 before it opens anything', async (name) => {
  const command = trunkline(
    {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      API_BASE_URL: 'http://127.0.0.1:1',
      API_KEY: 'key',
      RULES_FILE: join(folder, 'nowhere.yaml'),
    },
    name,
  );
  expect(await command.ended).toBe(2);
  expect(command.err()).toMatch(/^The settings cannot be used:\n {2}- RULES_FILE names .*nowhere\.yaml cannot be read/);
});
