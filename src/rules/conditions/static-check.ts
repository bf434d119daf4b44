import type { ASTNode } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import { normalizeNumber } from '../../shared/numbers.ts';
import { didYouMean } from '../../shared/suggestions.ts';
import { declaredFacts, domainOf, type FactFormat, type FactGroup, groupsOf } from '../facts/declared.ts';
import { plainText } from '../facts/values.ts';
import { type TriggerKind, triggerKinds } from '../triggers.ts';

/** What is wrong with a condition or template, and where. */
export interface TextProblem {
  /** Offset in the text. */
  readonly offset: number;
  readonly message: string;
  readonly remedy: string;
  /** Further problems of the same text. */
  readonly others?: readonly TextProblem[];
}

/** Finds comparisons of a fact with a value that it never has: they are certainly mistakes. */
export function impossibleComparisons(kind: TriggerKind, root: ASTNode): TextProblem[] {
  return [...nodesOf(root)].flatMap((node) => comparisonsOf(node)).flatMap((each) => impossibility(kind, each) ?? []);
}

type Operator = '==' | '!=' | 'in' | '<' | '<=' | '>' | '>=' | 'contains' | 'startsWith' | 'endsWith' | 'matches';

/** A fact on the left, a literal on the right. */
interface Comparison {
  readonly path: string;
  /** As in `message.text.lowerAscii() == "yes"`. */
  readonly isLowered: boolean;
  readonly operator: Operator;
  readonly value: string | bigint;
  /** Offset of the value in the text. */
  readonly offset: number;
}

const mirrored = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
const methods: readonly string[] = ['contains', 'startsWith', 'endsWith', 'matches'];

function comparisonsOf(node: ASTNode): Comparison[] {
  switch (node.op) {
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const [left, right] = node.args;
      return [...compared(left, node.op, right), ...compared(right, mirrored[node.op], left)];
    }
    case 'in': {
      const [left, right] = node.args;
      return right.op === 'list' ? right.args.flatMap((each) => compared(left, 'in', each)) : [];
    }
    case 'rcall': {
      const [name, receiver, [argument]] = node.args;
      return argument && methods.includes(name) ? compared(receiver, name as Operator, argument) : [];
    }
    default:
      return [];
  }
}

function compared(left: ASTNode, operator: Operator, right: ASTNode): Comparison[] {
  const isLowered = left.op === 'rcall' && left.args[0] === 'lowerAscii';
  const path = factPath(isLowered ? left.args[1] : left);
  const value = literalOf(right);
  return path === undefined || value === undefined
    ? []
    : [{ path, isLowered, operator, value, offset: right.range.start }];
}

function literalOf(node: ASTNode): string | bigint | undefined {
  if (node.op === '-_') {
    const value = literalOf(node.args);
    return typeof value === 'bigint' ? -value : undefined;
  }
  if (node.op !== 'value') return undefined;
  return typeof node.args === 'string' || typeof node.args === 'bigint' ? node.args : undefined;
}

const verbs: Readonly<Record<Operator, string>> = {
  '==': 'never equals',
  '!=': 'always differs from',
  in: 'is never',
  '<': 'cannot be compared with',
  '<=': 'cannot be compared with',
  '>': 'cannot be compared with',
  '>=': 'cannot be compared with',
  contains: 'never contains',
  startsWith: 'never begins with',
  endsWith: 'never ends with',
  matches: 'never matches',
};

/** Why a comparison can never hold, and what to write instead. */
type Reason = readonly [why: string, remedy: string];

function impossibility(kind: TriggerKind, comparison: Comparison): TextProblem | undefined {
  const { path, isLowered, operator, value, offset } = comparison;
  const domain = domainOf(kind, path);
  if (domain === undefined) return undefined;
  if (typeof value === 'bigint') {
    const { min } = domain;
    if (min === undefined || !isBelow(operator, value, BigInt(min))) return undefined;
    const message = `${path} is never below ${min}: this is never true.`;
    return { offset, message, remedy: `Compare with ${min} or more.` };
  }
  const reason = domain.values
    ? outsideValues(kind, path, domain.values, operator, value)
    : domain.format
      ? outsideFormat(path, domain.format, operator, value)
      : isLowered
        ? outsideLowerCase(path, operator, value)
        : undefined;
  if (!reason) return undefined;
  const [why, remedy] = reason;
  return { offset, message: `${why}: it ${verbs[operator]} ${JSON.stringify(value)}.`, remedy };
}

function isBelow(operator: Operator, value: bigint, min: bigint): boolean {
  return operator === '<' ? value <= min : (operator === '==' || operator === '<=' || operator === 'in') && value < min;
}

function outsideLowerCase(path: string, operator: Operator, value: string): Reason | undefined {
  const isPossible = (text: string) => !/[A-Z]/.test(text);
  if (operator === 'matches' ? !hasImpossibleCharacter(value, isPossible) : isPossible(value)) return undefined;
  return [`${path}.lowerAscii() has no capital letters`, `Write ${JSON.stringify(value.toLowerCase())}.`];
}

function outsideValues(
  kind: TriggerKind,
  path: string,
  values: readonly string[],
  operator: Operator,
  wanted: string,
): Reason | undefined {
  if (values.some((each) => isTrue(each, operator, wanted))) return undefined;
  const known = values.map((each) => JSON.stringify(each));
  if (known.length === 1) {
    return [`${path} is always ${known[0]} on ${kind}`, 'Remove this comparison, or use another trigger.'];
  }
  const suggestion = didYouMean(
    wanted,
    values.filter((each) => each !== ''),
  );
  return [`${path} is one of ${known.join(', ')}`, suggestion];
}

function isTrue(text: string, operator: Operator, value: string): boolean {
  switch (operator) {
    case 'contains':
      return text.includes(value);
    case 'startsWith':
      return text.startsWith(value);
    case 'endsWith':
      return text.endsWith(value);
    case 'matches':
      return contains(text, value);
    default:
      return text === value;
  }
}

const formats: Readonly<Record<'time' | 'date', { pattern: RegExp; what: string; sample: string }>> = {
  time: { pattern: /^(?:[01]\d|2[0-4]):[0-5]\d$/, what: 'is a local time such as "09:05"', sample: '09:05' },
  date: { pattern: /^\d{4}-\d\d-\d\d$/, what: 'is a day such as "2026-11-01"', sample: '2026-11-01' },
};

function outsideFormat(path: string, format: FactFormat, operator: Operator, text: string): Reason | undefined {
  const isPart = operator === 'contains' || operator === 'startsWith' || operator === 'endsWith';
  switch (format) {
    case 'number': {
      const why = `${path} holds digits alone, with the country code`;
      if (operator === 'matches') {
        const isImpossible = hasImpossibleCharacter(text, (each) => /[0-9]/.test(each));
        return isImpossible ? [why, 'Write digits, such as "^1845".'] : undefined;
      }
      const digits = isPart ? text.replace(/\D+/g, '') : normalizeNumber(text);
      if (digits === text) return undefined;
      if (digits !== '') return [why, `Write ${JSON.stringify(digits)}.`];
      return [why, isPart ? 'Write digits.' : 'Write "18455550100".'];
    }
    case 'plain': {
      const why = `${path} has no capital letters, accents or punctuation, and single spaces`;
      const plain = plainText(text);
      if (operator === 'matches') {
        const isPossible = (each: string) => each === ' ' || plainText(each) === each;
        const remedy = 'Write the pattern in lower case without punctuation, or use message.text.';
        return hasImpossibleCharacter(text, isPossible) ? [why, remedy] : undefined;
      }
      // A part of a text may begin or end at a word boundary.
      const begin = operator === 'contains' || operator === 'endsWith' ? /^ / : /^$/;
      const end = operator === 'contains' || operator === 'startsWith' ? / $/ : /^$/;
      if (text.replace(begin, '').replace(end, '') === plain) return undefined;
      return [why, plain === '' ? 'Use message.text.' : `Write ${JSON.stringify(plain)}, or use message.text.`];
    }
    case 'time':
    case 'date': {
      const { pattern, what, sample } = formats[format];
      if (isPart || operator === 'matches' || pattern.test(text)) return undefined;
      const padded = `0${text}`;
      return [`${path} ${what}`, `Write ${JSON.stringify(pattern.test(padded) ? padded : sample)}.`];
    }
  }
}

/**
 * Whether a pattern requires a character that no value of the fact has. Character classes and optional characters are skipped,
 * so that what is found is certain.
 */
function hasImpossibleCharacter(pattern: string, isPossible: (character: string) => boolean): boolean {
  if (pattern.includes('\\Q')) return false;
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(pattern);
  const parts =
    /\\[pPx]\{[^}]*\}|\\[pPx]\w{1,2}|\\[a-zA-Z0-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:P?<\w+>|[a-zA-Z-]*[:)])|\{\d*,?\d*\}|\\(?<escaped>[^a-zA-Z0-9])|[\^$.|()*+?]|(?<literal>.)/gsu;
  for (const part of pattern.matchAll(parts)) {
    const literal = part.groups?.escaped ?? part.groups?.literal;
    if (literal === undefined) continue;
    const mayBeMissing = /^(?:[?*]|\{0)/.test(pattern.slice(part.index + part[0].length));
    if (!mayBeMissing && !isPossible(ignoresCase ? literal.toLowerCase() : literal)) return true;
  }
  return false;
}

/** Every node of an expression, outermost first. */
export function* nodesOf(node: ASTNode): Generator<ASTNode> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

export function childrenOf({ args }: ASTNode): ASTNode[] {
  return childrenIn(args);
}

function childrenIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenIn);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** A fact in an expression, such as `message.text`, and the offset of its name in the text. */
interface NamedFact {
  readonly group: FactGroup;
  readonly name: string;
  readonly offset: number;
}

export function namedFacts(root: ASTNode): NamedFact[] {
  return [...nodesOf(root)].flatMap((node) => {
    if (node.op !== '.' || node.args[0].op !== 'id' || factPath(node) === undefined) return [];
    return [
      { group: node.args[0].args as FactGroup, name: node.args[1], offset: node.range.end - node.args[1].length },
    ];
  });
}

/** What is wrong with a name that rules on a trigger do not have; undefined for a fact that they have. */
export function unknownName(
  kind: TriggerKind,
  group: string,
  name: string | undefined,
): Pick<TextProblem, 'message' | 'remedy'> | undefined {
  if (!groupsOf[kind].includes(group as FactGroup)) {
    const others = triggerKinds.filter((each) => groupsOf[each].includes(group as FactGroup));
    return others.length > 0
      ? { message: `There is no \`${group}\` on ${kind}.`, remedy: `Rules on ${others.join(', ')} have it.` }
      : { message: `There is no fact called ${group}.`, remedy: didYouMean(group, ['now', ...groupsOf[kind]]) };
  }
  const names = Object.keys(declaredFacts[group as FactGroup]);
  if (name === undefined) {
    return { message: `${group} is a group of facts.`, remedy: `Name one of its facts: ${names.join(', ')}.` };
  }
  if (names.includes(name)) return undefined;
  return { message: `There is no fact ${group}.${name}.`, remedy: didYouMean(name, names) };
}

/** The path of a fact node, such as `message.text`; undefined for any other node. */
export function factPath(node: ASTNode): string | undefined {
  if (node.op !== '.' || node.args[0].op !== 'id' || !Object.hasOwn(declaredFacts, node.args[0].args)) return undefined;
  return `${node.args[0].args}.${node.args[1]}`;
}

/** The operands of the top-level `&&` chain; a condition without one is its only operand. */
export function conjunctsOf(node: ASTNode): ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(conjunctsOf) : [node];
}

/** Replaces the name of a method by one of the same length, so that offsets in the text stay valid. */
export function renameMethod(text: string, root: ASTNode, from: string, to: string): string {
  let renamed = text;
  for (const node of nodesOf(root)) {
    if (node.op !== 'rcall' || node.args[0] !== from) continue;
    const at = text.indexOf(from, node.args[1].range.end);
    renamed = `${renamed.slice(0, at)}${to}${renamed.slice(at + from.length)}`;
  }
  return renamed;
}

const compiled = new Map<string, RE2JS>();
const maxCompiled = 1_000;

/**
 * Whether a text matches an RE2 pattern, in time linear in its length: JavaScript's own regular expressions can take seconds
 * for thirty characters. Throws for an invalid pattern.
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
