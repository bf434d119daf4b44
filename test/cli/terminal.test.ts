import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { labelled, renderColumns } from '../../src/cli/output.ts';
import { createProcessLog, createProgress, printNote } from '../../src/cli/terminal.ts';

const head = ['id', 'state', 'why'];

test('a table has one line for each row, and no frame', () => {
  const table = renderColumns(head, [
    ['1f8c0000', 'NEEDS_HUMAN', 'no message matches\nand none will'],
    ['2', 'SENT', ''],
  ]);
  expect(table.split('\n')).toEqual([
    'id        state        why',
    '1f8c0000  NEEDS_HUMAN  no message matches; and none will',
    '2         SENT',
  ]);
});

test('a table of two hundred thousand rows is printed', () => {
  expect(renderColumns(head, Array(200_000).fill(['x', 'y', 'eight words of why'])).split('\n')).toHaveLength(200_001);
});

test('further lines of a text are indented to its label', () => {
  expect(labelled('Postgres', 'Old.\nRun `npx trunkline migrate`.')).toBe(
    'Postgres  Old.\n          Run `npx trunkline migrate`.',
  );
});

test('progress is a line every five seconds, without control characters', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stream = new PassThrough();
  const progress = createProgress('pairs', stream);
  progress(0.1, 10);
  vi.advanceTimersByTime(5_000);
  progress(0.5, 50);
  progress(0.6, 60);
  vi.advanceTimersByTime(5_000);
  progress(Number.NaN, 60);
  printNote('The service is busy.\u001b[2J', stream);
  expect(String(stream.read())).toBe('50%, 50 pairs\n0%, 60 pairs\nThe service is busy.\\u001b[2J\n');
});

test('a process logs sentences on a terminal, with nothing that steers it', () => {
  const said: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY: true, write: (text: string) => said.push(text) > 0 });
  const log = createProcessLog('info', 'UTC', stream);
  log.info({ rules: 7 }, 'The rules are in force');
  log.warn({ err: new Error('no route') }, 'A read failed\u001b[2J');
  expect(said.map((line) => line.replace(/^[\d:]{8}/, '00:00:00'))).toEqual([
    '00:00:00  The rules are in force (rules 7)\n',
    '00:00:00  Warning: A read failed\\u001b[2J (no route)\n',
  ]);
});
