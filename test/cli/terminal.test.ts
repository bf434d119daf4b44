import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { labelled, renderColumns } from '../../src/cli/output.ts';
import { createProgress, createStartLog } from '../../src/cli/terminal.ts';

const head = ['id', 'planned', 'rule', 'state', 'why'];
const row = [
  ...['1f8c0000-1111-4222-8333-444455556666', '2026-11-01T08:00:00Z', 'greet-new-callers-at-night', 'NEEDS_HUMAN'],
  'no message of the thread matches what was sent\nand none will',
];

describe('a table', () => {
  test.each([110, 120, 140])('fits %i columns and keeps every word', (width) => {
    const lines = renderColumns(head, [row, row], width).split('\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');
    expect(letters(lines.join(''))).toBe(letters([head, row, row].flat().join('')));
  });

  test.each([undefined, 200])('of forty thousand rows is printed (width %s)', (width) => {
    const text = renderColumns(
      ['a', 'why'],
      Array(40_000).fill(['x', 'eight words of why a text was not sent']),
      width,
    );
    expect(text.split('\n')).toHaveLength(40_001);
  });

  test('breaks between words, never within one', () => {
    const text = renderColumns(
      ['stream', 'read', 'rule', 'call'],
      [['Transcripts', '2026-11-01 08:00:00-05:00', 'greet new callers', '1783385492.057900']],
      58,
    );
    expect(text.split('\n')).toEqual([
      'stream       read            rule        call',
      'Transcripts  2026-11-01      greet new   1783385492.057900',
      '             08:00:00-05:00  callers',
    ]);
  });

  test.each([40, 60])('is one cell a line where its columns do not fit %i', (width) => {
    const text = renderColumns([...head, 'line', 'to', 'cost'], [[...row, '1', '2', ''], row], width);
    const [first = '', second = ''] = text.split('\n\n');
    expect(first).toMatch(/^id {7}1f8c0000-/);
    expect(first).toMatch(/\nline {5}1\nto {7}2$/);
    expect(second).not.toContain('line');
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
  });

  test('has one line for each row where there is no terminal, and no frame', () => {
    const [first, ...lines] = renderColumns(head, [row, row], undefined).split('\n');
    expect(first).toMatch(/^id +planned +rule +state +why$/);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(
      `${row.slice(0, 4).join('  ')}  no message of the thread matches what was sent; and none will`,
    );
  });

  test('breaks no command that somebody copies', () => {
    const text = labelled('Postgres', 'Old. Run `npx trunkline migrate` (or `npx trunkline start`), then wait.', 34);
    expect(text.split('\n')).toEqual([
      ...[
        'Postgres  Old. Run',
        '          `npx trunkline migrate`',
        '          (or',
        '          `npx trunkline start`),',
      ],
      '          then wait.',
    ]);
  });

  test('is as narrow as its content', () => {
    expect(renderColumns(['a', 'b'], [['x', 1]], 80)).toBe('a  b\nx  1');
  });
});

/** All that a progress wrote to a terminal so wide, or to a file. */
function written(work: (progress: ReturnType<typeof createProgress>) => void, columns?: number): string {
  const stream = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const progress = createProgress('pairs', stream);
  work(progress);
  progress.end();
  return String(stream.read() ?? '');
}

/** What stands on the terminal in the end: each drawing of the bar begins with a return and clears its line. */
function screenOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => stripVTControlCharacters(line.slice(line.lastIndexOf('\r') + 1)))
    .slice(0, -1);
}

describe('progress on a terminal', () => {
  test('never runs backwards when there is more to do than was known, or a part is retried', () => {
    const [line] = screenOf(
      written((progress) => {
        progress.show(0.2, 20);
        progress.show(0.02, 20);
        progress.show(0.1, 15);
        progress.show(Number.NaN, 0);
      }, 120),
    );
    expect(line).toMatch(/^█+░+ {2}20% {2}20 pairs {2}/);
  });

  test('ends with nothing left, however short it was', () => {
    expect(screenOf(written((progress) => progress.show(1, 3), 120))).toEqual([
      expect.stringMatching(/^█+ 100% {2}3 pairs {2}\d+\/s {2}0 s left$/),
    ]);
  });

  test.each([0, 8, 20, 40, 60, 80, 200])('fits %i columns, with what counts most', (columns) => {
    const [line = ''] = screenOf(written((progress) => progress.show(0.5, 1_234_567), columns));
    expect(line.length).toBeLessThan(columns || 81);
    expect(line).toContain('50%');
    expect(line.includes('left')).toBe(columns === 0 || columns >= 40);
  });

  test('leaves whole what is noted meanwhile, above it', () => {
    const lines = screenOf(
      written((progress) => {
        progress.show(0.5, 5);
        progress.note('The service is busy.');
        progress.show(1, 10);
      }, 60),
    );
    expect(lines).toEqual(['The service is busy.', expect.stringContaining('100%')]);
  });
});

test('progress in a file has no control characters, and nothing of a short command', () => {
  expect(written((progress) => progress.show(1, 3))).toBe('');
  expect(written((progress) => progress.note('The service is busy.'))).toBe('The service is busy.\n');
});

test('start logs sentences on a terminal, with nothing that steers it', () => {
  const said: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY: true, write: (text: string) => said.push(text) > 0 });
  const log = createStartLog('info', 'UTC', stream);
  log.info({ rules: 7 }, 'The rules are in force');
  log.warn({ err: new Error('no route') }, 'A read failed\u001b[2J');
  expect(said.map((line) => line.replace(/^[\d:]{8}/, '00:00:00'))).toEqual([
    '00:00:00  The rules are in force (rules 7)\n',
    '00:00:00  Warning: A read failed\\u001b[2J (no route)\n',
  ]);
});
