import type { Document } from 'yaml';
import type { z } from 'zod';
import type { Places } from './places.ts';
import type { RulesProblem } from './problem.ts';
import { rulesSchema } from './schema.ts';
import { didYouMean } from './suggestion.ts';

type Issue = z.core.$ZodIssue;

/** What the schema found wrong, each where it stands in the file. */
export function problemsOf(error: z.ZodError, document: Document, places: Places): RulesProblem[] {
  // A misspelt key is also a missing one: what was written comes first.
  const isUnknown = ({ code }: Issue) => (code === 'unrecognized_keys' ? 0 : 1);
  const at = ({ path }: Issue) => path.join('/');
  const misspelt = new Set(error.issues.filter(({ code }) => code === 'unrecognized_keys').map(at));
  const found = error.issues
    .filter((issue) => issue.code !== 'custom' || !misspelt.has(at(issue)))
    .toSorted((a, b) => isUnknown(a) - isUnknown(b))
    .flatMap((issue) => problemsOfIssue(issue, [], document, places));
  // One mistake can break two rules of the schema at one place: the first says it.
  const isFirst = ({ line, column }: RulesProblem, at: number) =>
    found.findIndex((each) => each.line === line && each.column === column) === at;
  return found.filter(isFirst);
}

function problemsOfIssue(
  issue: Issue,
  above: readonly PropertyKey[],
  document: Document,
  places: Places,
): RulesProblem[] {
  const path = [...above, ...issue.path];
  const value = valueAt(document.toJS(), path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        ...places.ofKey([...path, key]),
        message: `There is no \`${key}\` here.`,
        cure: didYouMean(key, keysAt(path)),
      }));
    case 'invalid_union': {
      const branch = bestBranch(issue.errors);
      const isDeeper = branch.some(
        ({ path, code }) => path.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'),
      );
      if (isDeeper) return branch.flatMap((each) => problemsOfIssue(each, path, document, places));
      return [{ ...places.ofValue(path), message: `This is ${kindOf(value)}.`, cure: unionCure(path) }];
    }
    case 'invalid_type': {
      if (value === undefined) {
        const name = String(path.at(-1) ?? 'rules');
        const cure = name === 'rules' ? 'Add rules: a list; rules: [] has none.' : `Add ${name}.`;
        return [{ ...places.ofValue(path), message: `\`${name}\` is missing.`, cure }];
      }
      return [
        {
          ...places.ofValue(path),
          message: `This is ${kindOf(value)}, not ${words[issue.expected] ?? issue.expected}.`,
          cure: typeCure(issue.expected),
        },
      ];
    }
    case 'invalid_value': {
      const known = issue.values.map(String);
      if (value === undefined) {
        const name = String(path.at(-1));
        return [
          {
            ...places.ofValue(path),
            message: `\`${name}\` is missing.`,
            cure: `Add ${name}: one of ${known.join(', ')}.`,
          },
        ];
      }
      return [
        {
          ...places.ofValue(path),
          message: `There is no ${JSON.stringify(value)} here.`,
          cure: didYouMean(String(value), known),
        },
      ];
    }
    default: {
      const [message = issue.message, cure = 'See how config/rules.yaml does it.'] = issue.message.split('\n');
      return [{ ...places.ofValue(path), message, cure }];
    }
  }
}

/** The alternative that was meant: the one that objects to something inside, or else to the least. */
function bestBranch(errors: readonly (readonly Issue[])[]): readonly Issue[] {
  const depth = (issues: readonly Issue[]) =>
    issues.some(({ path, code }) => path.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value')) ? 1 : 0;
  const ranked = [...errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length);
  return ranked[0] ?? [];
}

const words: Readonly<Record<string, string>> = {
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
  return words[typeof value] ?? typeof value;
}

function typeCure(expected: string): string {
  if (expected === 'string') return 'Put it in quotes.';
  if (expected === 'array') return 'Write items, each beginning with a dash.';
  if (expected === 'object') return 'Write keys with values, one a line.';
  return `Write ${words[expected] ?? expected}.`;
}

const unionCures: Readonly<Record<string, string>> = {
  resolve: 'Write resolve: true, or an object with a comment.',
  block: 'Write block: true, or an object with a reason.',
  assign: 'Write a user’s id, username or e-mail, agent, line, or nobody.',
};

function unionCure(path: readonly PropertyKey[]): string {
  return unionCures[String(path.at(-1))] ?? 'Write a span such as "09:00-17:00", or a list of them.';
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    root,
  );
}

/** The keys that the schema knows at a path. */
function keysAt(path: readonly PropertyKey[]): string[] {
  let schema: unknown = rulesSchema;
  for (const key of path) {
    const inner = innermost(schema);
    if (typeof key === 'number') schema = definitionOf(inner)?.element;
    else schema = shapeOf(inner)?.[String(key)];
  }
  return Object.keys(shapeOf(innermost(schema)) ?? {});
}

interface Definition {
  readonly element?: unknown;
  readonly innerType?: unknown;
  readonly options?: readonly unknown[];
  readonly shape?: Readonly<Record<string, unknown>>;
}

function definitionOf(schema: unknown): Definition | undefined {
  return (schema as { def?: Definition } | undefined)?.def;
}

function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  return definitionOf(schema)?.shape;
}

/** The object or list within optionals, defaults and alternatives. */
function innermost(schema: unknown): unknown {
  const definition = definitionOf(schema);
  if (definition?.innerType !== undefined) return innermost(definition.innerType);
  const option = definition?.options?.find(
    (each) => shapeOf(each) !== undefined || definitionOf(each)?.element !== undefined,
  );
  return option === undefined ? schema : innermost(option);
}
