import { type Document, isMap, isNode, isPair, isScalar, type LineCounter, type Node } from 'yaml';
import { UserError } from '../../shared/errors.ts';

/** Line and column, both from 1. */
export interface FilePosition {
  readonly line: number;
  readonly column: number;
}

/** One error or warning about a rules file: where, what, and what to do about it. */
export interface RulesProblem extends FilePosition {
  readonly message: string;
  readonly remedy: string;
}

/** The rules file is invalid. The message shows every problem with its line. */
export class RulesError extends UserError {
  readonly code = 'rules';
  readonly problems: readonly RulesProblem[];

  constructor(file: string, text: string, problems: readonly RulesProblem[]) {
    super(problems.map((problem) => renderProblem(file, text, problem)).join('\n\n'));
    this.problems = problems;
  }
}

const maxWidth = 160;

/** A problem as compilers print it: position and message, the line with a caret, the remedy. */
export function renderProblem(file: string, text: string, { line, column, message, remedy }: RulesProblem): string {
  const source = text.split('\n')[line - 1]?.replace(/\r$/, '');
  const head = `${file}:${line}:${column}: ${message}`;
  if (source === undefined) return `${head}\n  ${remedy}`;
  const margin = `${String(line).padStart(5)} | `;
  const from = Math.max(0, Math.min(column - 1 - maxWidth / 2, source.length - maxWidth));
  const excerpt = source.slice(from, from + maxWidth);
  // Tabs stay tabs, so that the caret stands under its column.
  const indent = source.slice(from, column - 1).replace(/[^\t]/g, ' ');
  return `${head}\n${margin}${excerpt}\n${' '.repeat(margin.length)}${indent}^\n  ${remedy}`;
}

/** Finds the position of a path or offset in the file. */
export interface Positions {
  /** The value at a path, or the nearest node around it. */
  ofValue(path: readonly PropertyKey[]): FilePosition;
  /** The key at the end of a path. */
  ofKey(path: readonly PropertyKey[]): FilePosition;
  /** A character of the string at a path, in any of YAML's notations. */
  within(path: readonly PropertyKey[], offset: number): FilePosition;
  at(offset: number): FilePosition;
}

export function positionsIn(source: string, document: Document, lines: LineCounter): Positions {
  const at = (offset: number): FilePosition => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  function nodeAt(path: readonly PropertyKey[]): Node | undefined {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return node;
    }
    return undefined;
  }

  return {
    at,
    ofValue: (path) => at(nodeAt(path)?.range?.[0] ?? 0),
    ofKey(path) {
      const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
      const pair = isMap(parent)
        ? parent.items.find((each) => isPair(each) && isScalar(each.key) && each.key.value === path.at(-1))
        : undefined;
      const range = isScalar(pair?.key) ? pair.key.range : undefined;
      return range ? at(range[0]) : this.ofValue(path);
    },
    within(path, offset) {
      const node = document.getIn(path, true);
      if (!isScalar(node) || !node.range) return this.ofValue(path);
      const [start, end] = node.range;
      // Quotes, folds and indents only add characters: the text stands at this offset or later.
      const [token = ''] = /^\S+/.exec(String(node.value).slice(offset)) ?? [];
      const found = source.indexOf(token, start + offset);
      return at(token === '' ? end : found >= 0 && found < end ? found : start);
    },
  };
}
