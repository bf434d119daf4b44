import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createProgress, renderColumns } from '../../src/cli/terminal.ts';

const head = ['id', 'planned', 'rule', 'state', 'why'];
const row = [
  ...['1f8c0000-1111-4222-8333-444455556666', '2026-11-01T08:00:00Z', 'greet-new-callers-at-night', 'NEEDS_HUMAN'],
  'no message of the thread matches what was sent\nand none will',
];

describe('a table', () => {
  test.each([40, 60, 80, 120])('fits %i columns and keeps every word', (width) => {
    const lines = renderColumns(head, [row, row], width).split('\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');
    expect(letters(lines.join(''))).toBe(letters([head, row, row].flat().join('')));
  });

  test('has one line for each row where there is no terminal, and no frame', () => {
    const [first, ...lines] = renderColumns(head, [row, row], undefined).split('\n');
    expect(first).toMatch(/^id +planned +rule +state +why$/);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(
      `${row.slice(0, 4).join('  ')}  no message of the thread matches what was sent; and none will`,
    );
  });

  test('is as narrow as its content', () => {
    expect(renderColumns(['a', 'b'], [['x', 1]], 80)).toBe('a  b\nx  1');
  });
});

describe('progress on a terminal', () => {
  /** What the bar showed last, and every percentage that it showed. */
  function shownBy(work: (progress: ReturnType<typeof createProgress>) => void) {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
    const progress = createProgress('pairs', stream);
    work(progress);
    progress.end();
    const text = stripVTControlCharacters(String(stream.read()));
    return { text, percentages: [...text.matchAll(/(\d+)%/g)].map(([, percent]) => Number(percent)) };
  }

  test('never runs backwards when there is more to do than was known', () => {
    const { percentages } = shownBy((progress) => {
      progress.show(0.2, 20);
      progress.show(0.02, 20);
    });
    expect(percentages.at(-1)).toBe(20);
  });

  test('ends with nothing left, however short it was', () => {
    const { text } = shownBy((progress) => progress.show(1, 3));
    expect(text).toContain('100%');
    expect(text.slice(text.lastIndexOf('100%'))).toContain('0 s left');
  });
});
