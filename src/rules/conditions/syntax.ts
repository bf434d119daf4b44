import type { ASTNode } from '@marcbachmann/cel-js';
import { declaredFacts } from '../facts/declared.ts';

/** Every node of an expression, the outermost first. */
export function* nodesOf(node: ASTNode): Generator<ASTNode> {
  yield node;
  for (const child of childrenIn(node.args)) yield* nodesOf(child);
}

function childrenIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenIn);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** A fact that an expression names, such as `message.text`, and where. */
export interface NamedFact {
  readonly group: string;
  readonly name: string;
  /** Of the name, in the text. */
  readonly offset: number;
}

export function namedFacts(root: ASTNode): NamedFact[] {
  return [...nodesOf(root)].flatMap((node) => {
    if (node.op !== '.' || node.args[0].op !== 'id' || factPath(node) === undefined) return [];
    return [{ group: node.args[0].args, name: node.args[1], offset: node.range.end - node.args[1].length }];
  });
}

/** The fact that a node names, such as `message.text`; undefined for any other node. */
export function factPath(node: ASTNode): string | undefined {
  if (node.op !== '.' || node.args[0].op !== 'id' || !Object.hasOwn(declaredFacts, node.args[0].args)) return undefined;
  return `${node.args[0].args}.${node.args[1]}`;
}

/** What a condition demands altogether: its parts between `&&` that are not within brackets of another kind. */
export function conjunctsOf(node: ASTNode): ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(conjunctsOf) : [node];
}

/** A call that is given a text as it stands, so that it can be tried before any fact is known. */
export interface LiteralCall {
  readonly name: 'duration' | 'timestamp' | 'matches';
  readonly argument: string;
  /** Of the argument, in the text. */
  readonly offset: number;
}

export function literalCalls(root: ASTNode): LiteralCall[] {
  return [...nodesOf(root)].flatMap((node): LiteralCall[] => {
    const [name, argument] =
      node.op === 'call' ? [node.args[0], node.args[1][0]] : node.op === 'rcall' ? [node.args[0], node.args[2][0]] : [];
    if (name !== 'duration' && name !== 'timestamp' && name !== 'matches') return [];
    if (argument?.op !== 'value' || typeof argument.args !== 'string') return [];
    return [{ name, argument: argument.args, offset: argument.range.start }];
  });
}

/** Puts another name of the same length in place of a method's, so that every place in the text stays where it is. */
export function renameMethod(text: string, root: ASTNode, from: string, to: string): string {
  let renamed = text;
  for (const node of nodesOf(root)) {
    if (node.op !== 'rcall' || node.args[0] !== from) continue;
    const at = text.indexOf(from, node.args[1].range.end);
    renamed = `${renamed.slice(0, at)}${to}${renamed.slice(at + from.length)}`;
  }
  return renamed;
}
