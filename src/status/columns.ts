import Table from 'cli-table3';

/** Between two columns. */
const gutter = 2;
/** No column is made narrower for the sake of the others. */
const narrowest = 6;

/** How wide a line may be: as wide as the terminal; undefined, and so without a bound, where nobody reads it on one. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
}

/**
 * Rows under a head, one line each and in full where there is no bound. Within a bound the widest columns are wrapped until
 * the lines fit.
 */
export function renderColumns(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  width = terminalWidth(),
): string {
  const cells = [head, ...rows].map((row) => row.map(String));
  const texts = width === undefined ? cells.map((row) => row.map((cell) => cell.replaceAll('\n', '; '))) : cells;
  const natural = head.map((_, at) => Math.max(...texts.map((row) => widthOf(row[at] ?? ''))));
  const widths = width === undefined ? natural : fitted(natural, width - gutter * (head.length - 1));
  const table = new Table({
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gutter },
    chars: Object.fromEntries(borders.map((name) => [name, ''])),
  });
  for (const row of texts) table.push(row.map((cell, at) => wrapped(cell, widths[at] ?? 0)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const borders = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
];

/** Takes from the widest column, again and again, until all fit. */
function fitted(natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, each) => sum + each, 0);
  while (total() > room && Math.max(...widths) > narrowest) {
    widths[widths.indexOf(Math.max(...widths))] = Math.max(...widths) - 1;
  }
  return widths;
}

function widthOf(cell: string): number {
  return Math.max(0, ...cell.split('\n').map(({ length }) => length));
}

/** Breaks between words, and within a word that is wider than its column. */
function wrapped(cell: string, width: number): string {
  if (widthOf(cell) <= width) return cell;
  return cell
    .split('\n')
    .flatMap((line) => {
      const lines = [''];
      for (const word of line.split(' ').flatMap((each) => pieces(each, width))) {
        const last = lines.at(-1) ?? '';
        if (last === '') lines[lines.length - 1] = word;
        else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
        else lines.push(word);
      }
      return lines;
    })
    .join('\n');
}

function pieces(word: string, width: number): string[] {
  return word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''];
}
