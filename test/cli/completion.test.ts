import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const launcher = `${root}/src/trunkline.cjs`;

async function scriptFor(shell: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [launcher, 'completion', shell]);
  return stdout;
}

/** What bash suggests for the last of the words, with the script read twice, as a new login shell does. */
async function suggested(words: readonly string[], completer: string): Promise<string[]> {
  const code = `
    source <(printf '%s' "$SCRIPT") && source <(printf '%s' "$SCRIPT") || exit 1
    compopt() { :; }
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=\${#COMP_LINE}
    ${completer}
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', code, 'bash', ...words], {
    env: { ...process.env, SCRIPT: await scriptFor('bash') },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

test.each([
  ['npx trunkline sta', ['start', 'status']],
  ['npx trunkline sends s', ['show', 'settle']],
  ['npx trunkline sends list --state NEEDS', ['NEEDS_HUMAN']],
  ['npx trunkline coverage --from 7d --t', ['--to']],
  ['npx trunkline completion f', ['fish']],
  ['npx vitest sta', []],
])('bash completes %s', async (line, expected) => {
  expect(await suggested(line.split(' '), '__trunkline_npx')).toEqual(expected);
});

test('bash completes a program on the PATH', async () => {
  expect(await suggested(['trunkline', 'sends', 'res'], '__trunkline_complete')).toEqual(['resume']);
});

test.each([
  ['zsh', 'compdef _trunkline_npx npx'],
  ['fish', 'complete -c npx -n'],
  // Patched in what the library wrote.
  ['fish', 'test "$args[1]" = npx; and set args $args[2..-1]'],
])('the script for %s completes behind npx', async (shell, line) => {
  expect(await scriptFor(shell)).toContain(line);
});
