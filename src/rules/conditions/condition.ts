import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { didYouMean } from '../../shared/suggestions.ts';
import { type Declared, declaredFacts, type FactType, groupsOf, sampleFacts } from '../facts/declared.ts';
import { celFacts, groupClasses } from '../facts/values.ts';
import type { TriggerKind } from '../triggers.ts';
import { unguardedFacts } from './missing-facts.ts';
import {
  conjunctsOf,
  contains,
  impossibleComparisons,
  namedFacts,
  nodesOf,
  renameMethod,
  type TextProblem,
  unknownName,
} from './static-check.ts';

/** A condition that was type-checked and evaluated on sample facts. */
export interface Condition {
  /** The facts that it reads. */
  readonly paths: readonly string[];
  /** Takes the result of {@link celFacts}. Throws when a fact is missing that no `has(…)` checked. */
  test(facts: Readonly<Record<string, unknown>>): boolean;
  /**
   * The operands of its top-level `&&` chain, in order; without `&&`, the condition itself. Without those that read no fact
   * and are true, such as `true`.
   */
  readonly clauses: readonly Clause[];
  /** What is valid but probably not meant. */
  readonly warnings: readonly TextProblem[];
}

export interface Clause extends Pick<Condition, 'paths' | 'test'> {
  readonly text: string;
}

const limits = { maxAstNodes: 1_000, maxDepth: 60 };
/** Replaces the library's `matches`, whose expressions can run for hours. */
const safeMatches = 're2find';
const celTypes: Readonly<Record<FactType, string>> = {
  string: 'string',
  int: 'int',
  bool: 'bool',
  timestamp: 'google.protobuf.Timestamp',
  'list<int>': 'list<int>',
};
const environments = new Map<TriggerKind, Environment>();

/** Compiles the text of an `if`, or returns what is wrong with it. */
export function compileCondition(kind: TriggerKind, text: string, timeZone = 'UTC'): Condition | TextProblem {
  const environment = environmentOf(kind);
  try {
    const root = environment.parse(text).ast;
    for (const { group, name, offset } of namedFacts(root)) {
      // The type check below finds groups of other triggers.
      const problem = groupsOf[kind].includes(group) && unknownName(kind, group, name);
      if (problem) return { offset, ...problem };
    }
    const safe = renameMethod(text, root, 'matches', safeMatches);
    const checked = environment.check(safe);
    if (!checked.valid) return typeProblem(kind, text, checked.error);
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      return {
        offset: 0,
        message: `This gives a ${checked.type}, not true or false.`,
        remedy: 'Compare it with something.',
      };
    }
    const test = environment.parse(safe);
    const literal = literalProblem(environment, root);
    if (literal) return literal;
    const unguarded = unguardedFacts(root);
    const failure = sampleFacts(kind)
      .map((facts) => sampleProblem(() => test(celFacts(facts))))
      .find((each) => each !== undefined);
    const isMissing = failure?.message.includes('No such key') === true;
    const [problem, ...others] = [...impossibleComparisons(kind, root), ...(isMissing ? unguarded : [])];
    if (problem) return { ...problem, others };
    if (failure) return failure;
    const clauses = conjunctsOf(root)
      .map((node) => clauseOf(environment, text.slice(node.range.start, node.range.end), node))
      .filter((clause) => !isAlwaysTrue(clause));
    return {
      paths: pathsOf(root, text),
      test: (facts) => test(facts) === true,
      clauses,
      warnings: [...unguarded.map(asWarning), ...utcCalls(environment, text, root, timeZone)],
    };
  } catch (error) {
    const { offset, message } = locate(error);
    return (
      commonMistake(text, offset) ?? {
        offset,
        message,
        remedy: 'This is not a CEL expression: see the examples in config/rules.yaml.',
      }
    );
  }
}

function pathsOf(root: ASTNode, text: string): string[] {
  const paths = namedFacts(root).map(({ group, name }) => `${group}.${name}`);
  return [...new Set(/\bnow\b/.test(text) ? [...paths, 'now'] : paths)];
}

function clauseOf(environment: Environment, text: string, node: ASTNode): Clause {
  let test: ((facts: Readonly<Record<string, unknown>>) => unknown) | undefined;
  return {
    text,
    paths: pathsOf(node, text),
    test(facts) {
      // Compiled on first use: few conditions are ever explained.
      test ??= environment.parse(renameMethod(text, environment.parse(text).ast, 'matches', safeMatches));
      return test(facts) === true;
    },
  };
}

function isAlwaysTrue({ paths, test }: Clause): boolean {
  try {
    return paths.length === 0 && test({});
  } catch {
    // It needs a group of facts, as in `thread["exists"]`.
    return false;
  }
}

/** Of a fact whose absence fails no sample. It may be one that another clause implies, so the condition is taken. */
function asWarning(problem: TextProblem): TextProblem {
  return { ...problem, message: problem.message.replace(/\.$/, ': the rule then fails and does nothing.') };
}

const localParts = ['getHours', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getMonth', 'getFullYear'];

/** Calls that read a part of a time in UTC, where the local time was probably meant. */
function utcCalls(environment: Environment, text: string, root: ASTNode, timeZone: string): TextProblem[] {
  const zone = timeZone === 'UTC' ? 'America/New_York' : timeZone;
  return [...nodesOf(root)].flatMap((node): TextProblem[] => {
    if (node.op !== 'rcall' || !localParts.includes(node.args[0]) || node.args[2].length > 0) return [];
    const [name, receiver] = node.args;
    const written = text.slice(receiver.range.start, receiver.range.end);
    if (environment.check(written).type !== celTypes.timestamp) return [];
    return [
      {
        offset: receiver.range.end + 1,
        message: `${name}() is in UTC.`,
        remedy: `Write ${written}.${name}("${zone}"), or use the local facts hours.time, hours.weekday and hours.date; ${name}("UTC") where UTC is meant.`,
      },
    ];
  });
}

const maxWordLength = 3;
const operators: Readonly<Record<string, string>> = { and: '&&', or: '||', not: '!' };

/** Recognizes the syntax of other languages: `=`, `and`, `or`, `not`. */
function commonMistake(text: string, offset: number): TextProblem | undefined {
  if (text[offset] === '=') {
    return { offset, message: 'A single = compares nothing.', remedy: 'Write == for "equals", != for "differs".' };
  }
  const word = /(?<![\w"'.])(and|or|not)(?=[\s(])/.exec(text.slice(Math.max(0, offset - maxWordLength - 1)));
  const [, found = ''] = word ?? [];
  const at = Math.max(0, offset - maxWordLength - 1) + (word?.index ?? 0);
  return word && at <= offset
    ? { offset: at, message: `CEL has no \`${found}\`.`, remedy: `Write ${operators[found]} in its place.` }
    : undefined;
}

function environmentOf(kind: TriggerKind): Environment {
  const held = environments.get(kind);
  if (held) return held;
  const environment = new Environment({ limits });
  environment.registerFunction(`string.${safeMatches}(string): bool`, contains);
  environment.registerVariable('now', celTypes.timestamp);
  for (const group of groupsOf[kind]) {
    const schema = Object.fromEntries(
      Object.entries<Declared>(declaredFacts[group]).map(([name, { type }]) => [name, celTypes[type]]),
    );
    const type = `trunkline.${group}`;
    environment.registerType(type, { ctor: groupClasses[group], fields: schema });
    environment.registerVariable(group, type);
  }
  environments.set(kind, environment);
  return environment;
}

function typeProblem(kind: TriggerKind, text: string, error: unknown): TextProblem {
  const { offset, message } = locate(error);
  const [, unknown] = /^Unknown variable: (\w+)/.exec(message) ?? [];
  const problem = unknown !== undefined && unknownName(kind, unknown, undefined);
  if (problem) return { offset, ...problem };
  const types = /no such overload: (.*)/.exec(message)?.[1];
  if (types !== undefined) {
    const isNull = types.includes('null');
    return {
      offset,
      message: `These types cannot be combined: ${types}.`,
      remedy: isNull
        ? 'Check whether a fact is missing with has(…), such as has(thread.is_resolved).'
        : 'Compare values of one type; a time and a length such as now - message.sent_at > duration("2h") do.',
    };
  }
  return { offset, message: message.replaceAll(safeMatches, 'matches'), remedy: typeRemedy(text, message) };
}

const knownFunctions = 'size has duration timestamp string int double matches contains startsWith endsWith'.split(' ');

function typeRemedy(text: string, message: string): string {
  const [, called] = /overload for '(\w+)\(/.exec(message) ?? [];
  if (called === undefined) return 'See the conditions of config/rules.yaml.';
  return text.includes(`${called}(`) && !knownFunctions.includes(called)
    ? `There is no function ${called}. ${didYouMean(called, knownFunctions)}`
    : `See what ${called}(…) takes.`;
}

const literalRemedies: Readonly<Record<string, string>> = {
  duration: 'Write numbers with h, m or s, such as "48h" or "1h30m"; a day is "24h".',
  timestamp: 'Write an instant such as "2026-11-01T08:00:00Z".',
  matches: 'Patterns are RE2',
};

/** A literal that a function does not take. Found without facts, so also where no sample reaches it. */
function literalProblem(environment: Environment, root: ASTNode): TextProblem | undefined {
  for (const node of nodesOf(root)) {
    if (node.op !== 'call' && node.op !== 'rcall') continue;
    const name = node.args[0];
    const [argument] = node.op === 'call' ? node.args[1] : node.args[2];
    const remedy = literalRemedies[name];
    if (remedy === undefined || argument?.op !== 'value' || typeof argument.args !== 'string') continue;
    const literal = JSON.stringify(argument.args);
    const { start: offset } = argument.range;
    try {
      if (name === 'matches') contains('', argument.args);
      else environment.evaluate(`${name}(${literal})`);
    } catch (error) {
      const message = `${literal} is not a valid ${name === 'matches' ? 'regular expression' : name}.`;
      return { offset, message, remedy: name === 'matches' ? `${remedy}: ${locate(error).message}.` : remedy };
    }
  }
  return undefined;
}

function sampleProblem(run: () => unknown): TextProblem | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    const { offset, message } = locate(error);
    return {
      offset,
      message: `It fails on sample facts: ${message}`,
      remedy: 'Guard what can be missing or malformed.',
    };
  }
}

function locate(error: unknown): { offset: number; message: string } {
  if (!(error instanceof Error)) return { offset: 0, message: String(error) };
  const { range, summary } = error as Error & { range?: { start: number }; summary?: string };
  return { offset: range?.start ?? 0, message: summary ?? error.message };
}
