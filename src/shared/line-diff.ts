/** A line of a difference. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Its number in the text after the change; of a removed line, in the one before. */
  readonly number: number;
}

/** Lines around a change that are shown with it. */
const context = 3;
/** Beyond this, the changed middles of both texts count as replaced: the work grows with the product of their lines. */
const maxCells = 4_000_000;

/** The changes between two texts as a unified diff: groups of changed lines with three lines around them. */
export function differenceOf(before: string, after: string): DiffLine[][] {
  const lines = diffLines(linesOf(before), linesOf(after));
  const hunks: DiffLine[][] = [];
  let shown = 0;
  for (const [at, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    const from = Math.max(0, at - context);
    if (from > shown || hunks.length === 0) hunks.push([]);
    hunks.at(-1)?.push(...lines.slice(Math.max(from, shown), at + context + 1));
    shown = at + context + 1;
  }
  return hunks;
}

/** The lines of a text, without the empty one after its last line break. */
export function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const common = commonLengths(before.slice(head, oldEnd), after.slice(head, newEnd));

  const same = after.map((text, at): DiffLine => ({ kind: 'same', text, number: at + 1 }));
  const result = same.slice(0, head);
  let [old, next] = [head, head];
  while (old < oldEnd || next < newEnd) {
    if (common && old < oldEnd && next < newEnd && before[old] === after[next]) {
      result.push(...same.slice(next, next + 1));
      old += 1;
      next += 1;
    } else if (
      old < oldEnd &&
      (next === newEnd || !common || common(old + 1 - head, next - head) >= common(old - head, next + 1 - head))
    ) {
      result.push({ kind: 'removed', text: before[old] ?? '', number: old + 1 });
      old += 1;
    } else {
      result.push({ kind: 'added', text: after[next] ?? '', number: next + 1 });
      next += 1;
    }
  }
  return [...result, ...same.slice(newEnd)];
}

/**
 * How many lines the rests of both texts have in common from two places on, in order. Undefined if the texts are too
 * long.
 */
function commonLengths(
  before: readonly string[],
  after: readonly string[],
): ((old: number, next: number) => number) | undefined {
  if (before.length * after.length > maxCells) return undefined;
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const lengthOf = (old: number, next: number) => lengths[old * width + next] ?? 0;
  for (let old = before.length - 1; old >= 0; old -= 1) {
    for (let next = after.length - 1; next >= 0; next -= 1) {
      lengths[old * width + next] =
        before[old] === after[next]
          ? lengthOf(old + 1, next + 1) + 1
          : Math.max(lengthOf(old + 1, next), lengthOf(old, next + 1));
    }
  }
  return lengthOf;
}
