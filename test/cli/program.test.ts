import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { actions } from '../../src/actions/actions.ts';
import { keyOf } from '../../src/actions/reads.ts';
import { createProgram } from '../../src/cli/program.ts';

const program = createProgram({ startWorkers: () => Promise.reject(new Error('no command runs here')) });

function leavesOf(command: Command, path: string): [string, Command][] {
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((each) => leavesOf(each, `${path} ${each.name()}`.trim()));
}
const leaves = leavesOf(program, '');

describe('the contract', () => {
  test.each(leaves)('%s can answer in JSON and explains itself', (_path, command) => {
    expect(command.options.map(({ long }) => long)).toContain('--json');
    expect(command.helpInformation()).toContain('--help');
    expect(command.description()).not.toBe('');
  });

  test('has every command that users rely on', () => {
    const words =
      'start web worker migrate sandbox doctor status resync reconcile coverage list trace erase restored settings ' +
      'subscriptions:list,ensure,remove backfill:calls,threads events:replay,reparse contacts:import notify:test opt-outs:confirm,clear ' +
      'rules:check,simulate,apply,show,explain,retry,rollback sends:settle,approve,reject,cancel,pause,resume';
    const promised = words.split(' ').flatMap((word) => {
      const [name = '', verbs] = word.split(':');
      return verbs === undefined ? [name] : verbs.split(',').map((verb) => `${name} ${verb}`);
    });
    expect(leaves.map(([path]) => path)).toEqual(expect.arrayContaining(promised));
  });

  test.each(actions)('$name is a command that takes what the action needs', ({ name, args, question }) => {
    const command = leaves.find(([path]) => path === name)?.[1];
    const words = command?.registeredArguments.map((each) => each.name()) ?? [];
    const flags = command?.options.map(({ long }) => long?.slice(2)) ?? [];
    for (const [key, schema] of Object.entries(args.shape))
      if (!schema.safeParse(undefined).success) expect([...words, ...flags]).toContain(key);
    expect(flags.includes('dry-run')).toBe(question !== undefined);
  });
});

describe('resync', () => {
  test.each([
    ['thread', '+1 (845) 751-1133/845 500 8085', '18457511133/18455008085'],
    ['thread', '18457511133/18455008086,18455008085', '18457511133/18455008085/18455008085,18455008086'],
    ['thread', '18457511133/18455008085/18455008085,18455008086', '18457511133/18455008085/18455008085,18455008086'],
    ['thread', '18457511133/18457511133,18455008085', '18457511133/18455008085'],
    ['call', '1783385492.057900', '1783385492.057900'],
    ['users', undefined, 'all'],
    ['lines', 'all', 'all'],
  ] as const)('takes %s %s', (kind, given, key) => {
    expect(keyOf(kind, given)).toBe(key);
  });

  test.each([
    ['thread', '18457511133'],
    ['thread', 'abc/def'],
    ['thread', '18457511133/1'],
    ['thread', '18457511133/2125550131.0'],
    ['thread', '2.13E+09/18455008085'],
    ['thread', '18457511133/+36 1 234 5678'],
    ['thread', '18457511133/18455008085/18455008085/more'],
    ['call', '123'],
    ['call', undefined],
    ['recordings', 'all'],
    ['lines', '18457511133'],
  ] as const)('refuses %s %s as wrong use', (kind, given) => {
    expect(() => keyOf(kind, given)).toThrow(expect.objectContaining({ code: 'wrong_use' }));
  });
});
