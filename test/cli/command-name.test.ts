import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { toType } from '../../src/shared/command-name.ts';
import { root } from '../program.ts';

const program = await createProgram({ startWorkers: () => Promise.reject(new Error('no command runs here')) });

function namesOf(command: Command, before = ''): string[] {
  return command.commands.flatMap((each) => [`${before}${each.name()}`, ...namesOf(each, `${before}${each.name()} `)]);
}
const pathsOf = namesOf(program);

const { stdout } = await promisify(execFile)('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
});
/** What a user reads: pages, recipes, settings, comments in the database, and the messages of the code. */
const texts = stdout
  .split('\n')
  .filter(
    (file) => /\.(md|ya?ml|json|toml|sql|service|example|ts)$/.test(file) && !/^(test|src\/db)\/|lock/.test(file),
  );

/** The line of a source file without a comment of it: those are for who changes the code. */
const withoutComment = (line: string) => line.replace(/^\s*(\*|\/\*|\/\/).*/, '');

// Single words such as `status` are also names of other things.
const phrases = pathsOf.filter((path) => path.includes(' ')).join('|');
const otherName = /npm run trunkline|(?:`|^|>)trunkline [a-z]/;
const noName = new RegExp(`\\\\?\\\`(${phrases})\\b`);

test('every text names the program as it is typed', async () => {
  const wrong = texts.map(async (file) => {
    const isCode = file.endsWith('.ts');
    const lines = (await readFile(join(root, file), 'utf8')).split('\n').map(isCode ? withoutComment : String);
    const isWrong = (line: string) =>
      otherName.test(line) || (isCode && noName.test(line.replaceAll(/toType\(`[^`]*`\)/g, '')));
    return lines.filter(isWrong).map((line) => `${file}: ${line}`);
  });
  expect((await Promise.all(wrong)).flat()).toEqual([]);
});

test('help and remedies name it alike', () => {
  const status = program.commands.find((each) => each.name() === 'status');
  expect(status?.helpInformation()).toContain('Usage: npx trunkline status');
  expect(toType('status')).toBe('`npx trunkline status`');
});
