import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { confirm, type Preview } from '../../src/cli/terminal.ts';

const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
afterEach(() => said.mockClear());

const look = vi.fn((): Promise<Preview> => Promise.resolve({ sentence: 'Two rows would go.', data: { rows: 2 } }));
afterEach(() => look.mockClear());

/** A terminal at which a person types; null ends it, as Ctrl-D does. */
function terminal(typed: string | null, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough();
  if (typed === null) input.end();
  else input.write(`${typed}\n`);
  return { input, output, shown: () => String(output.read() ?? '') };
}

describe('in a script', () => {
  test('a command with --yes does what it is told, without a look and without a question', async () => {
    const { shown, ...script } = terminal('no', false);
    expect(await confirm({ yes: true }, look, script)).toBeUndefined();
    expect([look.mock.calls.length, shown()]).toEqual([0, '']);
  });

  test('nothing is done without --yes', async () => {
    const { shown, ...script } = terminal('yes', false);
    const refused = { exitCode: 2, message: expect.stringMatching(/^Nothing was done[^.]*--yes[^.]*\.$/) };
    await expect(confirm({}, look, script)).rejects.toMatchObject(refused);
    expect([look.mock.calls.length, shown()]).toEqual([0, '']);
  });

  test('a dry run shows what would be done, and nothing is done', async () => {
    const preview = { json: { rows: 2, isDone: false }, text: 'Two rows would go.' };
    expect(await confirm({ dryRun: true }, look, terminal('yes', false))).toEqual(preview);
  });
});

describe('on a terminal', () => {
  test.each(['yes', ' YES '])('%j lets it be done, after a look', async (word) => {
    const { shown, ...person } = terminal(word);
    expect(await confirm({}, look, person)).toBeUndefined();
    expect(shown()).toMatch(/^Two rows would go\.\n.*yes/);
    // What a command found out goes to standard output, a question never.
    expect(said).not.toHaveBeenCalled();
  });

  test.each(['', 'y', 'no', 'yes please', null])('%j leaves everything as it is, which is a failure', async (word) => {
    const refused = confirm({}, look, terminal(word));
    await expect(refused).rejects.toMatchObject({ name: 'UserError', message: 'Nothing was done.' });
  });

  test('--yes asks nobody', async () => {
    const { shown, ...person } = terminal('no');
    expect(await confirm({ yes: true }, look, person)).toBeUndefined();
    expect(shown()).toBe('');
  });

  test('what cannot be done is said before anybody is asked', async () => {
    const { shown, ...person } = terminal('yes');
    const impossible = () => Promise.reject(new Error('there is no such thing'));
    await expect(confirm({}, impossible, person)).rejects.toThrow('no such thing');
    expect(shown()).toBe('');
  });
});

test.each(['erase', 'sends settle'])('%s takes --yes or --dry-run', async (path) => {
  const program = createProgram({ startWorkers: () => Promise.reject(new Error('no command runs here')) });
  const command = path
    .split(' ')
    .reduce<Command | undefined>((group, name) => group?.commands.find((each) => each.name() === name), program);
  const help = command?.helpInformation().replace(/\s+/g, ' ');
  expect(help).toMatch(/--yes do not ask for confirmation.*--dry-run only show what it would do/);
});
