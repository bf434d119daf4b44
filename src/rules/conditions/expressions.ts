import type { ASTNode } from '@marcbachmann/cel-js';
import { typedNumber } from '../../shared/phone-numbers.ts';
import { didYouMean } from '../../shared/suggestions.ts';
import { declarationOf, declaredFacts, type FactFormat } from '../facts/declared.ts';
import { plainText } from '../facts/values.ts';

/* What conditions need to know of parsed CEL expressions. */

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

/** Finds a comparison of a fact with a text that it never is, by its declared values or format: certainly a mistake. */
export function impossibleComparison(root: ASTNode): TextProblem | undefined {
  for (const node of nodesOf(root)) {
    if (!operators.includes(node.op)) continue;
    const operands = nodesIn(node.args);
    const path = operands.map(factPath).find((each) => each !== undefined);
    if (path === undefined) continue;
    for (const { op, args, range } of operands.flatMap((each) => (each.op === 'list' ? each.args : [each]))) {
      const remedy = op === 'value' && typeof args === 'string' ? neverIs(path, args) : undefined;
      if (remedy !== undefined) {
        return { offset: range.start, message: `${path} is never ${JSON.stringify(args)}.`, remedy };
      }
    }
  }
  return undefined;
}

const formats: Readonly<Record<FactFormat, { readonly form: string; readonly isIn: (text: string) => boolean }>> = {
  number: {
    form: 'digits alone with the country code, such as "18455550100"',
    isIn: (text) => text === '' || Object.values(typedNumber(text, { orShortCode: true }))[0] === text,
  },
  plain: {
    form: 'lower case with single spaces, without accents and punctuation, such as "thank you"',
    isIn: (text) => text === plainText(text),
  },
  time: { form: 'HH:MM, such as "09:05"', isIn: (text) => /^(?:[01]\d|2[0-4]):[0-5]\d$/.test(text) },
  language: { form: 'a code such as "es"', isIn: (text) => /^[a-z]{2,3}$/.test(text) },
  lower: { form: 'lower case', isIn: (text) => text === text.toLowerCase() },
  date: { form: 'YYYY-MM-DD, such as "2026-11-01"', isIn: (text) => /^\d{4}-\d\d-\d\d$/.test(text) },
};

/** What to write instead of a text that a fact never is; undefined for one that it can be. */
function neverIs(path: string, text: string): string | undefined {
  const { values, format } = declarationOf(path) ?? {};
  if (values) return values.includes(text) ? undefined : didYouMean(text, values.filter(Boolean));
  return format === undefined || formats[format].isIn(text) ? undefined : `It is written as ${formats[format].form}.`;
}
