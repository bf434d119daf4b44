import type { ASTNode } from '@marcbachmann/cel-js';
import { normalizeNumber } from '../../numbers.ts';
import { domainOf, type FactDomain } from '../facts/declared.ts';
import { plainText } from '../facts/plain.ts';
import { didYouMean } from '../file/suggestion.ts';
import type { TriggerKind } from '../triggers.ts';
import type { Fault } from './condition.ts';
import { contains } from './patterns.ts';
import { factPath, nodesOf } from './syntax.ts';

/** Finds comparisons of a fact with a value that it never has, so that the condition cannot mean what was meant. */
export function impossibleComparisons(kind: TriggerKind, root: ASTNode): Fault[] {
  return [...nodesOf(root)].flatMap((node) => comparisonsOf(node)).flatMap((each) => faultOf(kind, each) ?? []);
}

type Operator = '==' | '!=' | 'in' | '<' | '<=' | '>' | '>=' | 'contains' | 'startsWith' | 'endsWith' | 'matches';

/** A fact on the left, a value as it stands on the right. */
interface Comparison {
  readonly path: string;
  /** The fact is compared in lower case: `message.text.lowerAscii() == "yes"`. */
  readonly isLowered: boolean;
  readonly operator: Operator;
  readonly value: string | bigint;
  /** Of the value, in the text. */
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

function faultOf(kind: TriggerKind, comparison: Comparison): Fault | undefined {
  const { path, isLowered, operator, value, offset } = comparison;
  const domain = domainOf(kind, path);
  if (domain === undefined) return undefined;
  const told = (what: string, cure: string): Fault => ({
    offset,
    message: `${what}: it ${verbs[operator]} ${typeof value === 'bigint' ? value : JSON.stringify(value)}.`,
    cure,
  });
  if (typeof value === 'bigint') {
    const { min } = domain;
    if (min === undefined || !isBelow(operator, value, BigInt(min))) return undefined;
    return {
      offset,
      message: `${path} is never below ${min}: this is never true.`,
      cure: `Compare with ${min} or more.`,
    };
  }
  if (domain.values) return enumFault(kind, path, domain.values, comparison, told);
  if (isLowered && domain.format === undefined) {
    const isImpossible = operator === 'matches' ? impossibleCharacter(value, isNotCapital) : !isNotCapital(value);
    return isImpossible
      ? told(`${path}.lowerAscii() has no capital letters`, `Write ${JSON.stringify(value.toLowerCase())}.`)
      : undefined;
  }
  return formatFault(path, domain.format, comparison, told);
}

function isBelow(operator: Operator, value: bigint, min: bigint): boolean {
  return operator === '<' ? value <= min : (operator === '==' || operator === '<=' || operator === 'in') && value < min;
}

const isNotCapital = (text: string): boolean => !/[A-Z]/.test(text);

type Told = (what: string, cure: string) => Fault;

function enumFault(
  kind: TriggerKind,
  path: string,
  values: readonly string[],
  { operator, value }: Pick<Comparison, 'operator' | 'value'>,
  told: Told,
): Fault | undefined {
  const wanted = String(value);
  const isPossible = values.some((each) => isTrue(each, operator, wanted));
  if (isPossible) return undefined;
  const known = values.map((each) => JSON.stringify(each));
  const what = known.length > 1 ? `${path} is one of ${known.join(', ')}` : `${path} is always ${known[0]} on ${kind}`;
  return told(
    what,
    known.length > 1
      ? didYouMean(
          wanted,
          values.filter((each) => each !== ''),
        )
      : 'Remove this comparison, or use another trigger.',
  );
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

function formatFault(
  path: string,
  format: FactDomain['format'],
  { operator, value }: Pick<Comparison, 'operator' | 'value'>,
  told: Told,
): Fault | undefined {
  const text = String(value);
  const isPart = operator === 'contains' || operator === 'startsWith' || operator === 'endsWith';
  switch (format) {
    case 'number': {
      const what = `${path} holds digits alone, with the country code`;
      if (operator === 'matches') {
        return impossibleCharacter(text, (each) => /[0-9]/.test(each))
          ? told(what, 'Write digits, such as "^1845".')
          : undefined;
      }
      const digits = text.replace(/\D+/g, '');
      if (isPart)
        return digits === text
          ? undefined
          : told(what, digits === '' ? 'Write digits.' : `Write ${JSON.stringify(digits)}.`);
      const normal = normalizeNumber(text);
      if (normal === text) return undefined;
      return told(what, `Write ${JSON.stringify(normal === '' ? '18455550100' : normal)}.`);
    }
    case 'plain': {
      const what = `${path} has no capital letters, accents or punctuation, and single spaces`;
      const plain = plainText(text);
      const advice = plain === '' ? 'Ask message.text.' : `Write ${JSON.stringify(plain)}, or ask message.text.`;
      if (operator === 'matches') {
        const isPossible = (each: string) => each === ' ' || plainText(each) === each;
        return impossibleCharacter(text, isPossible)
          ? told(what, 'Write the pattern in lower case without punctuation, or ask message.text.')
          : undefined;
      }
      // A part of a text may begin or end between two words.
      const begin = operator === 'contains' || operator === 'endsWith' ? /^ / : /^$/;
      const end = operator === 'contains' || operator === 'startsWith' ? / $/ : /^$/;
      return text.replace(begin, '').replace(end, '') === plain ? undefined : told(what, advice);
    }
    case 'time':
    case 'date': {
      const { pattern, what, sample } = formats[format];
      if (isPart || operator === 'matches' || pattern.test(text)) return undefined;
      const padded = `0${text}`;
      return told(`${path} ${what}`, `Write ${JSON.stringify(pattern.test(padded) ? padded : sample)}.`);
    }
    default:
      return undefined;
  }
}

/**
 * The first character that a pattern asks for and no text of the fact has. Classes, and what may be missing, are passed
 * over: what is found is certain.
 */
function impossibleCharacter(pattern: string, isPossible: (character: string) => boolean): string | undefined {
  if (pattern.includes('\\Q')) return undefined;
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(pattern);
  const parts =
    /\\[pPx]\{[^}]*\}|\\[pPx]\w{1,2}|\\[a-zA-Z0-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:P?<\w+>|[a-zA-Z-]*[:)])|\{\d*,?\d*\}|\\(?<escaped>[^a-zA-Z0-9])|[\^$.|()*+?]|(?<literal>.)/gsu;
  for (const part of pattern.matchAll(parts)) {
    const literal = part.groups?.escaped ?? part.groups?.literal;
    if (literal === undefined) continue;
    const mayBeMissing = /^(?:[?*]|\{0)/.test(pattern.slice(part.index + part[0].length));
    if (!mayBeMissing && !isPossible(ignoresCase ? literal.toLowerCase() : literal)) return literal;
  }
  return undefined;
}
