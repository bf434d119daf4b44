import { type Alias, type Document, type ErrorCode, isPair, isScalar, visit } from 'yaml';
import type { z } from 'zod';
import { didYouMean } from '../../shared/suggestions.ts';
import type { Positions, RulesProblem } from './problems.ts';

/** Values that begin with `!`. YAML takes that for a tag and drops it: `if: !hours.is_open && x` would mean `x`. */
export function tagProblems(source: string, document: Document, positions: Positions): RulesProblem[] {
  const problems: RulesProblem[] = [];
  visit(document, {
    Node(_, node, ancestors) {
      const { tag, range } = node as { tag?: string; range?: readonly number[] };
      if (!tag?.startsWith('!') || !range) return;
      const [valueStart = 0, end = 0] = range;
      const before = source.lastIndexOf(tag, valueStart);
      const start = before < 0 ? valueStart : before;
      const written = source.slice(start, Math.max(end, start + tag.length)).trim();
      const parent = ancestors.at(-1);
      const key = isPair(parent) && isScalar(parent.key) ? `${parent.key.value}: ` : '';
      problems.push({
        ...positions.at(start),
        message: 'A value that begins with ! needs quotes: YAML takes it for a tag.',
        remedy: `Write ${key}${quoted(written)}`,
      });
    },
  });
  return problems;
}

function quoted(text: string): string {
  return text.includes('"') || text.includes('\\') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}

const remedies: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  DUPLICATE_KEY: 'The key stands there twice: remove one.',
  MISSING_CHAR: 'Close every quote and bracket.',
  BLOCK_AS_IMPLICIT_KEY:
    'Put a text that holds a colon in quotes, or after `>-` in a line of its own, and indent keys like those around them.',
};

/** The first place at which the bytes of the file aren't UTF-8. */
export function encodingProblem(text: string): RulesProblem | undefined {
  const at = text.search(/[\0\ufffd]/);
  if (at < 0) return undefined;
  const before = text.slice(0, at).split('\n');
  return {
    ...{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
    ...{ message: 'This is not UTF-8 text.', remedy: 'Save the file in the encoding UTF-8.' },
  };
}

/** The first syntax error of the file: after it, the parser misreads the rest. Undefined without one. */
export function yamlProblem(document: Document, positions: Positions): RulesProblem | undefined {
  const [error] = document.errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (!error) return undefined;
  const { code, message, pos } = error;
  const begin = code === 'MISSING_CHAR' ? unclosedQuote(document, pos[0]) : undefined;
  return {
    ...positions.at(begin ?? pos[0]),
    message: `This is not valid YAML: ${message}`,
    remedy: remedies[code] ?? 'Check indents, colons and quotes.',
  };
}

/** The content of a YAML document, or the alias that can't be resolved. */
export function contentOf(
  document: Document,
  positions: Positions,
): { readonly value: unknown } | { readonly problem: RulesProblem } {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    // An alias before its anchor, or aliases of aliases that would take all memory.
    if (!(error instanceof ReferenceError)) throw error;
    const aliases: Alias[] = [];
    visit(document, { Alias: (_, alias) => void aliases.push(alias) });
    const wrong = aliases.find((alias) => !alias.resolve(document)) ?? aliases[0];
    return {
      problem: {
        ...positions.at(wrong?.range?.[0] ?? 0),
        message: `This is not valid YAML: ${error.message}`,
        remedy: 'Write the value out in place of the alias.',
      },
    };
  }
}

/** Start of the string that runs to the end of the file because its closing quote is missing. */
function unclosedQuote(document: Document, end: number): number | undefined {
  let begin: number | undefined;
  visit(document, {
    Scalar(_, { type, range }) {
      if ((type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE') && range && range[1] >= end) begin = range[0];
    },
  });
  return begin;
}

/** The schema's message on a missing, unknown or mistyped value: the problem, and on a second line the remedy. */
export const schemaWording: z.core.$ZodErrorMap = (issue) => {
  const { code, input, path = [], inst } = issue;
  if (code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    return `\`${key}\` is not a key here.\n${didYouMean(key, Object.keys((inst as z.ZodObject).shape))}`;
  }
  if (code !== 'invalid_type' && code !== 'invalid_value') return undefined;
  const name = path.at(-1) ?? 'rules';
  if (input === undefined) return `\`${String(name)}\` is missing.\nAdd ${String(name)}.`;
  if (code === 'invalid_value') {
    return `There is no ${JSON.stringify(input)} here.\n${didYouMean(String(input), issue.values.map(String))}`;
  }
  if (issue.expected === 'object')
    return 'This has no keys.\nWrite keys with their values, such as a step resolve: true.';
  if (issue.expected === 'array') return 'This is not a list.\nBegin each item with a dash, in a line of its own.';
  if (issue.expected !== 'string') return undefined;
  const key = path.at(-1);
  return `This is not a text.\n${typeof key === 'string' ? `Write ${key}: "…", a text in quotes.` : 'Put it in quotes.'}`;
};

type Issue = z.core.$ZodIssue;

/** The problems that the schema reports, at most one per position: one mistake can violate two of its rules. */
export function schemaProblems({ issues }: z.ZodError, positions: Positions): RulesProblem[] {
  const isUnknown = ({ code }: Issue) => code === 'unrecognized_keys';
  const at = ({ path }: Issue) => path.join('/');
  // A misspelt key also counts as missing: report the key that was written.
  const misspelt = new Set(issues.filter(isUnknown).map(at));
  const found = issues
    .filter((issue) => issue.code !== 'custom' || !misspelt.has(at(issue)))
    .toSorted((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)))
    .map((issue) => problemOf(issue, [], positions));
  return found.filter(
    ({ line, column }, index) => found.findIndex((each) => each.line === line && each.column === column) === index,
  );
}

function problemOf(issue: Issue, above: readonly PropertyKey[], positions: Positions): RulesProblem {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    const branch = likelyBranch(issue.errors);
    if (branch) return problemOf(branch, path, positions);
  }
  const { message: said } = (issue.code === 'invalid_key' && issue.issues[0]) || issue;
  const [message = said, remedy = 'See how config/rules.yaml does it.'] = said.split('\n');
  const position =
    issue.code === 'unrecognized_keys'
      ? positions.ofKey([...path, issue.keys[0] ?? ''])
      : issue.code === 'invalid_key'
        ? positions.ofKey(path)
        : positions.ofValue(path);
  return { ...position, message, remedy };
}

/** The first error of the most likely alternative: one with an error inside, else the one with the fewest errors. */
function likelyBranch(alternatives: readonly (readonly Issue[])[]): Issue | undefined {
  const isInside = (issues: readonly Issue[]) =>
    issues.some(({ path, code }) => path.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'));
  const ranked = alternatives.toSorted((a, b) => Number(isInside(b)) - Number(isInside(a)) || a.length - b.length);
  return ranked[0]?.[0];
}
