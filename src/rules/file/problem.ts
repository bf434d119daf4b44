/** One thing that is wrong with a rules file: where, what, and what to do about it. */
export interface RulesProblem {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
  readonly cure: string;
}

/** The file cannot be used; the message shows every problem with its line. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
  readonly code = 'rules';
  readonly problems: readonly RulesProblem[];

  constructor(file: string, text: string, problems: readonly RulesProblem[]) {
    super(problems.map((problem) => shownProblem(file, text, problem)).join('\n\n'));
    this.problems = problems;
  }
}

/** Of a longer line, what stands around the place is shown. */
const longestShown = 160;

/** A problem as compilers show theirs: place and message, the line with a caret under the place, the cure. */
export function shownProblem(file: string, text: string, { line, column, message, cure }: RulesProblem): string {
  const source = text.split('\n')[line - 1]?.replace(/\r$/, '');
  const place = `${file}:${line}:${column}: ${message}`;
  if (source === undefined) return `${place}\n  ${cure}`;
  const margin = `${String(line).padStart(5)} | `;
  const from = Math.max(0, Math.min(column - 1 - longestShown / 2, source.length - longestShown));
  const shown = source.slice(from, from + longestShown);
  // A tab before the place stays a tab, so that the caret stands under it.
  const indent = source.slice(from, column - 1).replace(/[^\t]/g, ' ');
  return `${place}\n${margin}${shown}\n${' '.repeat(margin.length)}${indent}^\n  ${cure}`;
}
