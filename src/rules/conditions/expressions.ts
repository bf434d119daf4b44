import type { ASTNode } from '@marcbachmann/cel-js';
import { didYouMean } from '../../shared/suggestions.ts';
import { typedNumber } from '../../warehouse/phone-numbers.ts';
import { declarationOf, declaredFacts, type FactFormat } from '../facts/declared.ts';
import { plainText } from '../facts/values.ts';

/* What conditions need to know about parsed CEL expressions. */

/** What is wrong with a condition or template, and where. */
export interface TextProblem {
  /** Offset in the text. */
  readonly offset: number;
  readonly message: string;
  readonly remedy: string;
}

/** Every node of an expression, outermost first. */
export function* nodesOf(node: ASTNode): Generator<ASTNode> {
  yield node;
  for (const child of nodesIn(node.args)) yield* nodesOf(child);
}

function nodesIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return typeof args === 'object' && args !== null && 'op' in args && 'args' in args ? [args as ASTNode] : [];
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

const operators: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in'];

/** A text that a condition compares with a fact. */
export interface Comparison {
  readonly path: string;
  readonly text: string;
  readonly offset: number;
}

export function comparisonsIn(root: ASTNode): Comparison[] {
  return [...nodesOf(root)].flatMap((node) => {
    const operands = operators.includes(node.op) ? nodesIn(node.args) : [];
    const path = operands.map(factPath).find((each) => each !== undefined);
    const values = operands.flatMap((each) => (each.op === 'list' ? each.args : [each]));
    return values.flatMap(({ op, args, range }) =>
      path !== undefined && op === 'value' && typeof args === 'string'
        ? [{ path, text: args, offset: range.start }]
        : [],
    );
  });
}

/** Finds a comparison of a fact with a text that its declared values or format exclude: certainly a mistake. */
export function impossibleComparison(comparisons: readonly Comparison[]): TextProblem | undefined {
  for (const { path, text, offset } of comparisons) {
    const remedy = neverIs(path, text);
    if (remedy !== undefined) return { offset, message: `${path} is never ${JSON.stringify(text)}.`, remedy };
  }
  return undefined;
}

/** Searches for something that a fact never contains, such as a capital letter in `message.plain`, or a plus in a number. */
export function hopelessSearches(root: ASTNode): TextProblem[] {
  return [...nodesOf(root)].flatMap((node): TextProblem[] => {
    if (node.op !== 'rcall' || !/^(?:contains|startsWith|endsWith|matches)$/.test(node.args[0])) return [];
    const [name, receiver, [sought]] = node.args;
    const isLowered = receiver.op === 'rcall' && receiver.args[0] === 'lowerAscii';
    const format = isLowered ? 'lower' : declarationOf(factPath(receiver) ?? '')?.format;
    if (sought?.op !== 'value' || typeof sought.args !== 'string' || !format) return [];
    const { canContain } = formats[format];
    if (!canContain) return [];
    // In a pattern, only letters stand for themselves.
    const letters = sought.args.replace(/\\(?:[pP](?:\{[^}]*\}|.)|.)|\(\?P?<[^>]*>/g, '');
    const isPossible =
      name === 'matches' ? /\(\?[a-z]*i/.test(letters) || letters === letters.toLowerCase() : canContain(sought.args);
    const message = `${name}(${JSON.stringify(sought.args)}) is never true here.`;
    return isPossible ? [] : [{ offset: sought.range.start, message, remedy: remedyOf(format) }];
  });
}

interface Format {
  readonly form: string;
  /** Whether a fact can be this text. */
  readonly isIn: (text: string) => boolean;
  /** Whether a fact can contain this text. Undefined: searches aren't checked. */
  readonly canContain?: (part: string) => boolean;
}

/** How the strings of each format are written. */
export const formats: Readonly<Record<FactFormat, Format>> = {
  number: {
    form: 'digits alone with the country code, such as "18455550100"',
    isIn: (text) => text === '' || Object.values(typedNumber(text, { orShortCode: true }))[0] === text,
    canContain: (part) => /^\d*$/.test(part),
  },
  plain: {
    form: 'lower case with single spaces, without accents and punctuation, such as "thank you"',
    isIn: (text) => text === plainText(text),
    canContain: (part) => part.trim() === plainText(part),
  },
  time: { form: 'HH:MM, such as "09:05"', isIn: (text) => /^(?:[01]\d|2[0-4]):[0-5]\d$/.test(text) },
  language: { form: 'a code such as "es"', isIn: (text) => /^[a-z]{2,3}$/.test(text) },
  lower: { form: 'lower case', isIn: isLowerCase, canContain: isLowerCase },
  date: { form: 'YYYY-MM-DD, such as "2026-11-01"', isIn: (text) => /^\d{4}-\d\d-\d\d$/.test(text) },
};

function isLowerCase(text: string): boolean {
  return text === text.toLowerCase();
}

/** What to write instead of a text that a fact never equals. Undefined for a possible text. */
function neverIs(path: string, text: string): string | undefined {
  const { values, format } = declarationOf(path) ?? {};
  if (values) return values.includes(text) ? undefined : didYouMean(text, values.filter(Boolean));
  return format === undefined || formats[format].isIn(text) ? undefined : remedyOf(format);
}

const remedyOf = (format: FactFormat) => `It is written as ${formats[format].form}.`;
