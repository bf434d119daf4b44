import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { program, root } from '../program.ts';

const folder = await temporaryFolder();
const file = join(folder, '.env');
await writeFile(file, 'DATABASE_URL="postgres://somebody@127.0.0.1:1/of_the_file"\n');

async function status(environment: Readonly<Record<string, string>>): Promise<string> {
  const command = [process.execPath, join(root, 'src/trunkline.cjs')];
  const ran = program(['status'], environment, { command, cwd: folder });
  await ran.ended;
  return ran.err();
}

test('the variables of a .env in the folder count, where the shell sets none, and the file is named', async () => {
  const told = await status({ NODE_ENV: '' });
  expect(told).toContain(`Using the variables in ${file}.\n`);
  expect(told).toContain('ECONNREFUSED 127.0.0.1:1');
  const own = await status({ NODE_ENV: '', DATABASE_URL: 'postgres://somebody@127.0.0.1:2/of_the_shell' });
  expect(own).toContain('ECONNREFUSED 127.0.0.1:2');
});

test("one that can't be read is told in a sentence", async () => {
  const bad = await temporaryFolder();
  await mkdir(join(bad, '.env'));
  const ran = program(
    ['status'],
    { NODE_ENV: '' },
    { command: [process.execPath, join(root, 'src/trunkline.cjs')], cwd: bad },
  );
  await ran.ended;
  expect(ran.err()).toBe(`${join(bad, '.env')} can't be read. Let this user read it, or move it away.\n`);
});

test('no process that a test starts uses it', async () => {
  expect(await status({})).toMatch(/\nThe settings cannot be used:\n {2}- DATABASE_URL is missing/);
});
