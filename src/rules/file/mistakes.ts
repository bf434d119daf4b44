import { type Document, type ErrorCode, isPair, isScalar, visit, type YAMLParseError } from 'yaml';
import type { z } from 'zod';
import { didYouMean } from '../../shared/suggestions.ts';
import type { Positions, RulesProblem } from './problems.ts';
import { rulesJsonSchema } from './schema.ts';

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

/** The syntax errors of the file in order, without those that only follow from an earlier one. */
export function yamlProblems(document: Document, positions: Positions): RulesProblem[] {
  const errors = [...document.errors].sort((a, b) => a.pos[0] - b.pos[0]);
  const causes: YAMLParseError[] = [];
  for (const error of errors) {
    if (!causes.some((before) => isConsequence(error, before, positions))) causes.push(error);
  }
  return causes.map((error) => {
    const begin = error.code === 'MISSING_CHAR' ? unclosedQuote(document, error.pos[0]) : undefined;
    return { ...positions.at(begin ?? error.pos[0]), ...describe(error, errors) };
  });
}

/** After an error the parser misreads what follows, and reports that as well. */
function isConsequence({ code, message, pos }: YAMLParseError, before: YAMLParseError, positions: Positions): boolean {
  if (positions.at(pos[0]).line === positions.at(before.pos[0]).line) return true;
  switch (code) {
    case 'UNEXPECTED_TOKEN':
      // Text after a value is an error of its own; anything else was pushed out of the document by an earlier one.
      return !message.endsWith('at node end');
    case 'MULTILINE_IMPLICIT_KEY':
      return true;
    case 'BLOCK_AS_IMPLICIT_KEY':
      // An unclosed bracket swallows the lines below it.
      return before.code === 'BAD_INDENT' || !isKeyByColon(message);
    case 'MISSING_CHAR':
      return message.startsWith('Implicit map keys');
    default:
      return false;
  }
}

const remedies: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  DUPLICATE_KEY: 'The key stands there twice: remove one.',
  MISSING_CHAR: 'Close every quote and bracket.',
};

function describe(
  { code, message, pos }: YAMLParseError,
  errors: readonly YAMLParseError[],
): Pick<RulesProblem, 'message' | 'remedy'> {
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && isKeyByColon(message)) {
    const continues = errors.some((each) => each.code === 'MULTILINE_IMPLICIT_KEY' && each.pos[0] === pos[0]);
    return continues
      ? {
          message: 'This is not valid YAML: this text continues in a line that looks like a key.',
          remedy: 'Indent that line like the keys around it, or put the text in quotes, or after `>-`.',
        }
      : {
          message: 'This is not valid YAML: this text holds a colon that makes a key of it.',
          remedy: 'Put the text in quotes, or after `>-` in a line of its own.',
        };
  }
  const what = message.replace(/^Missing closing (['"])(?:quote|double-quote)?.*$/, 'this $1 is never closed');
  return { message: `This is not valid YAML: ${what}`, remedy: remedies[code] ?? 'Check indents, colons and quotes.' };
}

function isKeyByColon(message: string): boolean {
  return message.startsWith('Nested mappings');
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

type Issue = z.core.$ZodIssue;

/** The problems that the schema reports. */
export function schemaProblems(error: z.ZodError, document: Document, positions: Positions): RulesProblem[] {
  // A misspelt key is also a missing one: report what was written first.
  const isUnknown = ({ code }: Issue) => (code === 'unrecognized_keys' ? 0 : 1);
  const at = ({ path }: Issue) => path.join('/');
  const misspelt = new Set(error.issues.filter(({ code }) => code === 'unrecognized_keys').map(at));
  const found = error.issues
    .filter((issue) => issue.code !== 'custom' || !misspelt.has(at(issue)))
    .toSorted((a, b) => isUnknown(a) - isUnknown(b))
    .flatMap((issue) => problemsOfIssue(issue, [], document, positions));
  // One mistake can violate two rules of the schema: report the first.
  const isFirst = ({ line, column }: RulesProblem, at: number) =>
    found.findIndex((each) => each.line === line && each.column === column) === at;
  return found.filter(isFirst);
}

function problemsOfIssue(
  issue: Issue,
  above: readonly PropertyKey[],
  document: Document,
  positions: Positions,
): RulesProblem[] {
  const path = [...above, ...issue.path];
  const value = valueAt(document.toJS(), path);
  const problem = (message: string, remedy: string) => [{ ...positions.ofValue(path), message, remedy }];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        ...positions.ofKey([...path, key]),
        message: `There is no \`${key}\` here.`,
        remedy: didYouMean(key, keysAt(path)),
      }));
    case 'invalid_union': {
      const branch = bestBranch(issue.errors);
      if (isInside(branch)) return branch.flatMap((each) => problemsOfIssue(each, path, document, positions));
      return problem(`This is ${kindOf(value)}.`, unionRemedy(path));
    }
    case 'invalid_type': {
      const name = String(path.at(-1) ?? 'rules');
      if (value === undefined) {
        return problem(
          `\`${name}\` is missing.`,
          name === 'rules' ? 'Add rules: a list; rules: [] has none.' : `Add ${name}.`,
        );
      }
      const wanted = kinds[issue.expected] ?? issue.expected;
      return problem(`This is ${kindOf(value)}, not ${wanted}.`, typeRemedies[issue.expected] ?? `Write ${wanted}.`);
    }
    case 'invalid_value': {
      const known = issue.values.map(String);
      const name = String(path.at(-1));
      return value === undefined
        ? problem(`\`${name}\` is missing.`, `Add ${name}: one of ${known.join(', ')}.`)
        : problem(`There is no ${JSON.stringify(value)} here.`, didYouMean(String(value), known));
    }
    default: {
      const [message = issue.message, remedy = 'See how config/rules.yaml does it.'] = issue.message.split('\n');
      return problem(message, remedy);
    }
  }
}

/** Whether the value is of the right kind, and the error is in what it holds. */
function isInside(issues: readonly Issue[]): boolean {
  return issues.some(({ path, code }) => path.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'));
}

/** The alternative that was probably meant: one with an error inside, else the one with the fewest errors. */
function bestBranch(errors: readonly (readonly Issue[])[]): readonly Issue[] {
  const ranked = [...errors].sort((a, b) => Number(isInside(b)) - Number(isInside(a)) || a.length - b.length);
  return ranked[0] ?? [];
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function kindOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return kinds[typeof value] ?? typeof value;
}

const typeRemedies: Readonly<Record<string, string>> = {
  string: 'Put it in quotes.',
  array: 'Write items, each beginning with a dash.',
  object: 'Write keys with values, one a line.',
};

const unionRemedies: Readonly<Record<string, string>> = {
  reply: 'Write a text in quotes, or an object with a text and from.',
  from: 'Write one of the account’s numbers that can text, such as "16465550100".',
  resolve: 'Write resolve: true, or an object with a comment.',
  block: 'Write block: true, or an object with a reason.',
  assign: 'Write a user’s id, username or e-mail, agent, line, or nobody.',
};

function unionRemedy(path: readonly PropertyKey[]): string {
  return unionRemedies[String(path.at(-1))] ?? 'Write a span such as "09:00-17:00", or a list of them.';
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    root,
  );
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** The keys that the schema knows at a path. */
function keysAt(path: readonly PropertyKey[]): string[] {
  let schema = containerIn(rulesJsonSchema());
  for (const key of path) {
    schema = containerIn(typeof key === 'number' ? schema.items : schema.properties?.[String(key)]);
  }
  return Object.keys(schema.properties ?? {});
}

/** The object or list among the alternatives of a schema. */
function containerIn(schema: JsonSchema = {}): JsonSchema {
  return schema.anyOf?.find(({ properties, items }) => properties ?? items) ?? schema;
}
