import { structuredPatch } from 'diff';

/** A line of a difference. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Its number in the text after the change; of a removed line, in the one before. */
  readonly number: number;
}

/** Lines around a change that are shown with it. */
const context = 3;
/** Beyond this many changed lines, the work would grow with their square, so the texts count as replaced. */
const maxEditLength = 2_000;

const kinds = { ' ': 'same', '-': 'removed', '+': 'added' } as const;

/** The changes between two texts as a unified diff: groups of changed lines with three lines around them. */
export function differenceOf(before: string, after: string): DiffLine[][] {
  const [old, next] = [linesOf(before), linesOf(after)];
  const options = { context, maxEditLength };
  const patch = structuredPatch('', '', `${old.join('\n')}\n`, `${next.join('\n')}\n`, '', '', options);
  if (!patch) return [[...numbered('removed', old), ...numbered('added', next)]];
  return patch.hunks.map(({ lines, oldStart, newStart }) => {
    const at = { old: oldStart, next: newStart };
    return lines.map((line): DiffLine => {
      const kind = kinds[line[0] as keyof typeof kinds];
      const number = kind === 'removed' ? at.old : at.next;
      if (kind !== 'added') at.old += 1;
      if (kind !== 'removed') at.next += 1;
      return { kind, text: line.slice(1), number };
    });
  });
}

/** The lines of a text, without the empty one after its last line break. */
export function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

const numbered = (kind: DiffLine['kind'], lines: readonly string[]) =>
  lines.map((text, at): DiffLine => ({ kind, text, number: at + 1 }));
