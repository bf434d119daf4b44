import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import {
  type Declared,
  declarationOf,
  declaredFacts,
  type FactGroup,
  type FactType,
  groupsOf,
} from '../facts/declared.ts';
import { fixturesOf } from '../facts/fixtures.ts';
import { celFacts, groupClasses } from '../facts/shapes.ts';
import { didYouMean } from '../file/suggestion.ts';
import { type TriggerKind, triggerKinds } from '../triggers.ts';
import { impossibleComparisons } from './domains.ts';
import { contains } from './patterns.ts';
import { conjunctsOf, literalCalls, namedFacts, nodesOf, renameMethod } from './syntax.ts';

/** A condition that was checked against the facts of its trigger, and tried. */
export interface Condition {
  /** The facts that it asks for. */
  readonly paths: readonly string[];
  /** Takes what {@link celFacts} gives. Throws where a fact is missing that no `has(…)` asked for. */
  test(facts: Readonly<Record<string, unknown>>): boolean;
  /** What it demands altogether: its parts between `&&`, in their order. A condition without any is its only part. */
  readonly clauses: readonly Clause[];
  /** What it says is probably not what was meant, though it can be tried. */
  readonly warnings: readonly Fault[];
}

/** One of the demands of a condition. */
export interface Clause extends Pick<Condition, 'paths' | 'test'> {
  readonly text: string;
}

/** What is wrong with a text of the file, and how far into the text. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
  readonly cure: string;
  /** More of the kind in the same text. */
  readonly others?: readonly Fault[];
}

const limits = { maxAstNodes: 1_000, maxDepth: 60 };
/** Takes the place of the library's `matches`, whose expressions can be made to run for hours. */
const safeMatches = 're2find';
const celTypes: Readonly<Record<FactType, string>> = {
  string: 'string',
  int: 'int',
  bool: 'bool',
  timestamp: 'google.protobuf.Timestamp',
  'list<int>': 'list<int>',
};
const environments = new Map<TriggerKind, Environment>();

/** Compiles the text of an `if`, or says what is wrong with it. */
export function compileCondition(kind: TriggerKind, text: string, timeZone = 'UTC'): Condition | Fault {
  const environment = environmentOf(kind);
  try {
    const root = environment.parse(text).ast;
    const named = namedFacts(root);
    const wrong = named.find(
      ({ group, name }) => groupsOf[kind].includes(group as FactGroup) && !declarationOf(`${group}.${name}`),
    );
    if (wrong) return unknownFact(wrong.group as FactGroup, wrong.name, wrong.offset);
    const safe = renameMethod(text, root, 'matches', safeMatches);
    const checked = environment.check(safe);
    if (!checked.valid) return checkFault(kind, text, checked.error);
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      return {
        offset: 0,
        message: `This gives a ${checked.type}, not true or false.`,
        cure: 'Compare it with something.',
      };
    }
    const test = environment.parse(safe);
    for (const { name, argument, offset } of literalCalls(root)) {
      const fault = literalFault(environment, name, argument, offset);
      if (fault) return fault;
    }
    const [impossible, ...others] = impossibleComparisons(kind, root);
    if (impossible) return { ...impossible, others };
    for (const facts of fixturesOf(kind)) {
      const fault = trial(() => test(celFacts(facts)), text);
      if (fault) return fault;
    }
    const clauses = conjunctsOf(root).map((node) =>
      clauseOf(environment, text.slice(node.range.start, node.range.end), node),
    );
    return {
      paths: pathsOf(root, text),
      test: (facts) => test(facts) === true,
      clauses,
      warnings: utcCalls(environment, text, root, timeZone),
    };
  } catch (error) {
    const { offset, message } = placed(error);
    return (
      slipOf(text, offset) ?? { offset, message, cure: 'This is no CEL expression: see those of config/rules.yaml.' }
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
      // Compiled when it is asked for first: few conditions are ever explained.
      test ??= environment.parse(renameMethod(text, environment.parse(text).ast, 'matches', safeMatches));
      return test(facts) === true;
    },
  };
}

const localParts = ['getHours', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getMonth', 'getFullYear'];

/** Parts of a time that are read in UTC, where a local time was most likely meant. */
function utcCalls(environment: Environment, text: string, root: ASTNode, timeZone: string): Fault[] {
  const zone = timeZone === 'UTC' ? 'America/New_York' : timeZone;
  return [...nodesOf(root)].flatMap((node): Fault[] => {
    if (node.op !== 'rcall' || !localParts.includes(node.args[0]) || node.args[2].length > 0) return [];
    const [name, receiver] = node.args;
    const written = text.slice(receiver.range.start, receiver.range.end);
    if (environment.check(written).type !== celTypes.timestamp) return [];
    return [
      {
        offset: receiver.range.end + 1,
        message: `${name}() is in UTC.`,
        cure: `Write ${written}.${name}("${zone}"), or ask the local facts hours.time, hours.weekday and hours.date; ${name}("UTC") where UTC is meant.`,
      },
    ];
  });
}

const longestWord = 3;
const words: Readonly<Record<string, string>> = { and: '&&', or: '||', not: '!' };

/** What people write who know another language better. */
function slipOf(text: string, offset: number): Fault | undefined {
  if (text[offset] === '=') {
    return { offset, message: 'A single = compares nothing.', cure: 'Write == for "equals", != for "differs".' };
  }
  const word = /(?<![\w"'.])(and|or|not)(?=[\s(])/.exec(text.slice(Math.max(0, offset - longestWord - 1)));
  const [, found = ''] = word ?? [];
  const at = Math.max(0, offset - longestWord - 1) + (word?.index ?? 0);
  return word && at <= offset
    ? { offset: at, message: `CEL has no \`${found}\`.`, cure: `Write ${words[found]} in its place.` }
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

function unknownFact(group: FactGroup, name: string, offset: number): Fault {
  const names = Object.keys(declaredFacts[group]);
  return { offset, message: `There is no fact ${group}.${name}.`, cure: didYouMean(name, names) };
}

function checkFault(kind: TriggerKind, text: string, error: unknown): Fault {
  const { offset, message } = placed(error);
  const [, unknown] = /^Unknown variable: (\w+)/.exec(message) ?? [];
  if (unknown !== undefined) {
    const others = triggerKinds.filter((each) => groupsOf[each].includes(unknown as FactGroup));
    return {
      offset,
      message: others.length > 0 ? `${kind} knows nothing of \`${unknown}\`.` : `There is nothing called ${unknown}.`,
      cure:
        others.length > 0
          ? `It is known to rules on ${others.join(', ')}.`
          : didYouMean(unknown, ['now', ...groupsOf[kind]]),
    };
  }
  const types = /no such overload: (.*)/.exec(message)?.[1];
  if (types !== undefined) {
    const isNull = types.includes('null');
    return {
      offset,
      message: `These types do not go together: ${types}.`,
      cure: isNull
        ? 'A missing fact is asked for with has(…), such as has(thread.is_resolved).'
        : 'Compare values of one type; a time and a length such as now - message.sent_at > duration("2h") do.',
    };
  }
  return { offset, message: message.replaceAll(safeMatches, 'matches'), cure: cureOf(text, message) };
}

function cureOf(text: string, message: string): string {
  const [, called] = /overload for '(\w+)\(/.exec(message) ?? [];
  if (called === undefined) return 'See the conditions of config/rules.yaml.';
  const known = [
    'size',
    'has',
    'duration',
    'timestamp',
    'string',
    'int',
    'double',
    'matches',
    'contains',
    'startsWith',
    'endsWith',
  ];
  return text.includes(`${called}(`) && !known.includes(called)
    ? `There is no function ${called}. ${didYouMean(called, known)}`
    : `See what ${called}(…) takes.`;
}

function literalFault(environment: Environment, name: string, argument: string, offset: number): Fault | undefined {
  try {
    if (name === 'matches') contains('', argument);
    else environment.evaluate(`${name}(${JSON.stringify(argument)})`);
    return undefined;
  } catch (error) {
    return {
      offset,
      message: `${JSON.stringify(argument)} is no ${name === 'matches' ? 'regular expression' : name}.`,
      cure:
        name === 'duration'
          ? 'Write numbers with h, m or s, such as "48h" or "1h30m"; a day is "24h".'
          : name === 'timestamp'
            ? 'Write an instant such as "2026-11-01T08:00:00Z".'
            : `Patterns are RE2: ${error instanceof Error ? error.message : String(error)}.`,
    };
  }
}

function trial(run: () => unknown, text: string): Fault | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    const { offset, message } = placed(error);
    const [, missing] = /^No such key: (\w+)/.exec(message) ?? [];
    if (missing === undefined)
      return { offset, message: `It fails on a sample: ${message}`, cure: 'Guard what can be missing or malformed.' };
    const path = `${/(\w+)\.$/.exec(text.slice(0, offset))?.[1] ?? ''}.${missing}`;
    return { offset, message: `${path} can be missing.`, cure: `Ask first: has(${path}) && …` };
  }
}

function placed(error: unknown): { offset: number; message: string } {
  if (!(error instanceof Error)) return { offset: 0, message: String(error) };
  const { range, summary } = error as Error & { range?: { start: number }; summary?: string };
  return { offset: range?.start ?? 0, message: summary ?? error.message };
}
