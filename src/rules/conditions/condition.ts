import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import { zoneRemedy } from '../../shared/time-zone.ts';
import {
  type Declared,
  declaredFacts,
  type FactGroup,
  type FactType,
  groupsOf,
  sampleFacts,
  unknownFact,
} from '../facts/declared.ts';
import { celFacts, groupClasses } from '../facts/values.ts';
import type { TriggerKind } from '../triggers.ts';
import {
  type Comparison,
  comparisonsIn,
  conjunctsOf,
  factPath,
  hopelessSearches,
  impossibleComparison,
  nodesOf,
  renameMethod,
  type TextProblem,
} from './expressions.ts';

/** A part of a condition, or all of it. */
export interface Clause {
  readonly text: string;
  /** The facts that it reads. */
  readonly paths: readonly string[];
  /**
   * Takes the result of {@link celFacts}. False if a fact that decides is missing, also under a negation. Throws for
   * other failures, such as an overflow.
   */
  test(facts: Readonly<Record<string, unknown>>): boolean;
}

/** A condition that was type-checked and evaluated on sample facts. */
export interface Condition extends Clause {
  /** The operands of its top-level `&&` chain, in order. Without `&&`, the condition itself. */
  readonly clauses: readonly Clause[];
  /** The texts that it compares with facts. */
  readonly comparisons: readonly Comparison[];
  /** What is valid but probably not meant. */
  readonly warnings: readonly TextProblem[];
}

const limits = { maxAstNodes: 1_000, maxDepth: 60 };
/** Replaces the library's `matches`, whose expressions can run for hours. */
const safeMatches = 're2find';
const celTypes: Readonly<Record<FactType, string>> = {
  string: 'string',
  int: 'int',
  bool: 'bool',
  timestamp: 'google.protobuf.Timestamp',
  'list<string>': 'list<string>',
};
const environments = new Map<TriggerKind, Environment>();

/** Compiles the text of an `if`, or returns what is wrong with it. */
export function compileCondition(kind: TriggerKind, text: string, timeZone = 'UTC'): Condition | TextProblem {
  const environment = environmentOf(kind);
  try {
    const root = environment.parse(text).ast;
    const misspelt = misspeltFact(kind, root);
    if (misspelt) return misspelt;
    const safe = renameMethod(text, root, 'matches', safeMatches);
    const { valid, type, error } = environment.check(safe);
    if (!valid) return typeProblem(kind, error);
    if (type !== 'bool' && type !== 'dyn') {
      return { offset: 0, message: `This gives a ${type}, not true or false.`, remedy: 'Compare it with something.' };
    }
    const test = environment.parse(safe);
    const safeClauses = conjunctsOf(test.ast);
    const clauses = conjunctsOf(root).map((node, at): Clause => {
      const run = environment.parse(serialize(safeClauses[at] ?? node));
      return { text: serialize(node), paths: pathsOf(node), test: (facts) => isTrue(run, facts) };
    });
    const comparisons = comparisonsIn(root);
    const problem = impossibleComparison(comparisons) ?? sampleProblem(kind, clauses);
    if (problem) return problem;
    const warnings = [...utcCalls(environment, root, timeZone), ...hopelessSearches(root)];
    return { text, paths: pathsOf(root), test: (facts) => isTrue(test, facts), clauses, comparisons, warnings };
  } catch (error) {
    return {
      ...locate(error),
      remedy: 'CEL writes == for equals, && for and, || for or, ! for not: see the examples in config/rules.yaml.',
    };
  }
}

/** The library's type check ignores the operand of `has`. */
function misspeltFact(kind: TriggerKind, root: ASTNode): TextProblem | undefined {
  for (const node of nodesOf(root)) {
    if (node.op !== '.' || node.args[0].op !== 'id') continue;
    const [{ args: group }, name] = node.args;
    const problem = groupsOf[kind].includes(group as FactGroup) && unknownFact(kind, group, name);
    if (problem) return { offset: node.range.end - name.length, ...problem };
  }
  return undefined;
}

function isTrue(run: (facts: Readonly<Record<string, unknown>>) => unknown, facts: Readonly<Record<string, unknown>>) {
  try {
    return run(facts) === true;
  } catch (error) {
    if (locate(error).code === 'no_such_key') return false;
    throw error;
  }
}

function pathsOf(root: ASTNode): string[] {
  const paths = [...nodesOf(root)].map((node) => (node.op === 'id' && node.args === 'now' ? 'now' : factPath(node)));
  return [...new Set(paths.filter((path) => path !== undefined))];
}

/** Runs each clause alone: in the whole condition, a false clause can hide that the next one fails. */
function sampleProblem(kind: TriggerKind, clauses: readonly Clause[]): TextProblem | undefined {
  for (const facts of sampleFacts(kind)) {
    const shape = celFacts(facts);
    for (const { text, test } of clauses) {
      try {
        test(shape);
      } catch (error) {
        const message = `${text} fails on sample facts: ${locate(error).message}`;
        return { offset: 0, message, remedy: sampleRemedy };
      }
    }
  }
  return undefined;
}

const sampleRemedy =
  'A duration is such as "48h" or "1h30m", a timestamp such as "2026-11-01T08:00:00Z", a pattern of matches is RE2.';

const localParts = ['getHours', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getMonth', 'getFullYear'];

function otherZone({ op, args, range }: ASTNode): TextProblem[] {
  const remedy = op === 'value' && typeof args === 'string' ? zoneRemedy(args) : undefined;
  return remedy === undefined ? [] : [{ offset: range.start, message: `${args} is not a time zone.`, remedy }];
}

/** Calls that read a part of a time in UTC, where local time was probably meant. */
function utcCalls(environment: Environment, root: ASTNode, timeZone: string): TextProblem[] {
  const zone = timeZone === 'UTC' ? 'America/New_York' : timeZone;
  return [...nodesOf(root)].flatMap((node): TextProblem[] => {
    if (node.op !== 'rcall' || !localParts.includes(node.args[0])) return [];
    const [name, receiver, [zoneNode]] = node.args;
    if (zoneNode) return otherZone(zoneNode);
    const written = serialize(receiver);
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

function typeProblem(kind: TriggerKind, error: unknown): TextProblem {
  const { offset, message, code, node } = locate(error);
  if (code === 'unknown_variable' && node?.op === 'id') {
    return { offset, message, remedy: '', ...unknownFact(kind, node.args, undefined) };
  }
  return { offset, message: message.replaceAll(safeMatches, 'matches'), remedy: typeRemedies[code] ?? seeExamples };
}

const seeExamples = 'See the conditions of config/rules.yaml.';
const typeRemedies: Readonly<Record<string, string>> = {
  no_such_overload:
    'Compare values of one type; a time and a length such as now - message.sent_at > duration("2h") do. Whether a fact is there says has(thread.is_resolved).',
  no_matching_overload:
    'Functions are size, has, duration, timestamp, string, int, double, matches, contains, startsWith, endsWith, lowerAscii.',
};

/** What an error of the library says. */
function locate(error: unknown) {
  if (!(error instanceof Error)) return { offset: 0, message: String(error), code: '' };
  const { range, summary, code, node } = error as Error & {
    readonly range?: ASTNode['range'];
    readonly summary?: string;
    readonly code?: string;
    readonly node?: ASTNode;
  };
  return { offset: range?.start ?? 0, message: summary ?? error.message, code: code ?? '', node };
}

const compiled = new Map<string, RE2JS>();
const maxCompiled = 1_000;

/**
 * Whether a text matches an RE2 pattern, in time linear in its length: JavaScript's own regular expressions can take
 * seconds for thirty characters. Throws for an invalid pattern.
 */
export function contains(text: string, pattern: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = RE2JS.compile(pattern);
    if (compiled.size >= maxCompiled) compiled.clear();
    compiled.set(pattern, expression);
  }
  return expression.matcher(text).find();
}
