import { type Document, type ErrorCode, isPair, isScalar, visit, type YAMLParseError } from 'yaml';
import type { Places } from './places.ts';
import type { RulesProblem } from './problem.ts';

/**
 * Values that begin with `!`, which YAML takes for a tag and leaves out: `if: !hours.is_open && x` would mean `x`. Rules have
 * no use for tags.
 */
export function tagProblems(source: string, document: Document, places: Places): RulesProblem[] {
  const problems: RulesProblem[] = [];
  visit(document, {
    Node(_, node, ancestors) {
      const { tag, range } = node as { tag?: string; range?: readonly number[] };
      if (!tag?.startsWith('!') || !range) return;
      const start = tagStart(source, tag, range[0] ?? 0);
      const written = source.slice(start, Math.max(range[1] ?? 0, start + tag.length)).trim();
      const parent = ancestors.at(-1);
      const key = isPair(parent) && isScalar(parent.key) ? `${parent.key.value}: ` : '';
      problems.push({
        ...places.at(start),
        message: 'A value that begins with ! needs quotes: YAML takes it for a tag.',
        cure: `Write ${key}${quoted(written)}`,
      });
    },
  });
  return problems;
}

/** A tag stands before its value, on the same line or above it. */
function tagStart(source: string, tag: string, valueStart: number): number {
  const before = source.lastIndexOf(tag, valueStart);
  return before < 0 ? valueStart : before;
}

function quoted(text: string): string {
  return text.includes('"') || text.includes('\\') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}

/** What is no YAML, in the order of the file: each mistake once, and nothing that only follows from one before it. */
export function yamlProblems(document: Document, places: Places): RulesProblem[] {
  const errors = [...document.errors].sort((a, b) => a.pos[0] - b.pos[0]);
  const told: YAMLParseError[] = [];
  for (const error of errors) {
    if (!told.some((before) => isFollower(error, before, places))) told.push(error);
  }
  return told.map((error) => {
    const begin = error.code === 'MISSING_CHAR' ? unclosedQuote(document, error.pos[0]) : undefined;
    return { ...places.at(begin ?? error.pos[0]), ...wordsOf(error, errors) };
  });
}

/** After a mistake the parser takes what stands below for something else, and objects to that as well. */
function isFollower({ code, message, pos }: YAMLParseError, before: YAMLParseError, places: Places): boolean {
  if (places.at(pos[0]).line === places.at(before.pos[0]).line) return true;
  switch (code) {
    case 'UNEXPECTED_TOKEN':
      // What stands behind a value is a mistake of its own; all else fell out of the document by an earlier one.
      return !message.endsWith('at node end');
    case 'MULTILINE_IMPLICIT_KEY':
      return true;
    case 'BLOCK_AS_IMPLICIT_KEY':
      // A bracket that is never closed swallows the lines below it.
      return before.code === 'BAD_INDENT' || !isKeyByColon(message);
    case 'MISSING_CHAR':
      return message.startsWith('Implicit map keys');
    default:
      return false;
  }
}

const cures: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  DUPLICATE_KEY: 'The key stands there twice: remove one.',
  MISSING_CHAR: 'Whatever begins with a quote or a bracket ends with one.',
};

function wordsOf(
  { code, message, pos }: YAMLParseError,
  errors: readonly YAMLParseError[],
): Pick<RulesProblem, 'message' | 'cure'> {
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && isKeyByColon(message)) {
    const goesOn = errors.some((each) => each.code === 'MULTILINE_IMPLICIT_KEY' && each.pos[0] === pos[0]);
    return goesOn
      ? {
          message: 'This is no YAML: this text goes on in a line that looks like a key.',
          cure: 'Indent that line like the keys around it, or put the text in quotes, or after `>-`.',
        }
      : {
          message: 'This is no YAML: this text holds a colon that makes a key of it.',
          cure: 'Put the text in quotes, or after `>-` in a line of its own.',
        };
  }
  const said = message.replace(/^Missing closing (['"])(?:quote|double-quote)?.*$/, 'this $1 is never closed');
  return { message: `This is no YAML: ${said}`, cure: cures[code] ?? 'See to indents, colons and quotes.' };
}

function isKeyByColon(message: string): boolean {
  return message.startsWith('Nested mappings');
}

/** Where the text begins that goes on to the end of the file for want of a quote. */
function unclosedQuote(document: Document, end: number): number | undefined {
  let begin: number | undefined;
  visit(document, {
    Scalar(_, { type, range }) {
      if ((type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE') && range && range[1] >= end) begin = range[0];
    },
  });
  return begin;
}
