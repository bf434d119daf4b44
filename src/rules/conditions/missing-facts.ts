import type { ASTNode } from '@marcbachmann/cel-js';
import { declarationOf } from '../facts/declared.ts';
import { childrenOf, factPath, nodesOf, type TextProblem } from './static-check.ts';

/**
 * Finds reads of a fact that can be missing which no `has(…)` guards: one problem for each fact. Evaluation on sample facts misses
 * some, because `false && error` is false: a read beside a clause that is false on every sample fails on none of them.
 */
export function unguardedFacts(root: ASTNode): TextProblem[] {
  const assumptions = assumptionsOn(repeatedTests(root));
  const readsOf = Map.groupBy(readsIn(root), (read) => factPath(read) ?? '');
  return [...readsOf].flatMap(([path, reads]) => {
    const canFail = (failing: readonly ASTNode[]) =>
      assumptions.some((assumed) => outcomesOf(root, { path, reads: failing, assumed }).has('error'));
    if (!declarationOf(path)?.isOptional || !canFail(reads)) return [];
    const { range } = reads.find((read) => canFail([read])) ?? root;
    const offset = range.end - path.length + path.indexOf('.') + 1;
    return [{ offset, message: `${path} can be missing.`, remedy: `Check first: has(${path}) && …` }];
  });
}

type HasCall = Extract<ASTNode, { op: 'call' }>;

function isHas(node: ASTNode): node is HasCall {
  return node.op === 'call' && node.args[0] === 'has';
}

/** The nodes whose values are read: all but the operand of `has`. */
function* readsIn(node: ASTNode): Generator<ASTNode> {
  if (isHas(node)) return;
  yield node;
  for (const child of childrenOf(node)) yield* readsIn(child);
}

type Outcome = boolean | 'error';

/** What an evaluation is about: reads of one fact, which is missing. Reads of other facts succeed. */
interface Case {
  readonly path: string;
  readonly reads: readonly ASTNode[];
  /** The results of tests that the condition repeats, by their text. */
  readonly assumed: ReadonlyMap<string, boolean>;
}

/** The results that a node can have. A value that is not known, of whatever type, counts as both true and false. */
function outcomesOf(node: ASTNode, known: Case): ReadonlySet<Outcome> {
  const of = (each: ASTNode) => outcomesOf(each, known);
  switch (node.op) {
    case '&&':
      return conjunction(of(node.args[0]), of(node.args[1]));
    case '||':
      return negation(conjunction(negation(of(node.args[0])), negation(of(node.args[1]))));
    case '!_':
      return negation(of(node.args));
    case '?:': {
      const [condition, left, right] = node.args;
      return new Set(
        [...of(condition)].flatMap((each) => (each === 'error' ? ['error' as const] : [...of(each ? left : right)])),
      );
    }
    case 'value':
      return new Set(typeof node.args === 'boolean' ? [node.args] : [true, false]);
    default:
      if (known.reads.includes(node)) return new Set(['error']);
      return testOutcomes(node, isHas(node) ? [] : childrenOf(node).map(of), known);
  }
}

function testOutcomes(node: ASTNode, operands: readonly ReadonlySet<Outcome>[], known: Case): ReadonlySet<Outcome> {
  if (operands.some((each) => each.has('error'))) return new Set([true, false, 'error']);
  const [operand] = isHas(node) ? node.args[1] : [];
  if (operand && factPath(operand) === known.path) return new Set([false]);
  const path = factPath(node);
  if (path !== undefined && path === declarationOf(known.path)?.presentIf) return new Set([false]);
  // Of two known results, as in `has(…) == true`.
  if ((node.op === '==' || node.op === '!=') && operands.every(({ size }) => size === 1)) {
    const [[left], [right]] = operands.map((each) => [...each]) as [[Outcome], [Outcome]];
    return new Set([(left === right) === (node.op === '==')]);
  }
  const assumed = known.assumed.get(textOf(node));
  return new Set(assumed === undefined ? [true, false] : [assumed]);
}

/** `&&` of CEL: false wins over an error on either side. */
function conjunction(left: ReadonlySet<Outcome>, right: ReadonlySet<Outcome>): ReadonlySet<Outcome> {
  return new Set(
    [...left].flatMap((one) =>
      [...right].map((other) =>
        one === false || other === false ? false : one === 'error' || other === 'error' ? 'error' : true,
      ),
    ),
  );
}

function negation(outcomes: ReadonlySet<Outcome>): ReadonlySet<Outcome> {
  return new Set([...outcomes].map((each) => (each === 'error' ? each : !each)));
}

const tests: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in', 'rcall'];
const maxRepeated = 6;

/**
 * The tests that a condition repeats: each has one result in one evaluation, so that `(has(a) || has(b)) && (has(a) ? a > 1 :
 * b > 1)` is guarded. At most six, because all combinations of their results are tried.
 */
function repeatedTests(root: ASTNode): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const node of nodesOf(root)) {
    const isFlag = declarationOf(factPath(node) ?? '')?.type === 'bool';
    if (!isFlag && !isHas(node) && !tests.includes(node.op)) continue;
    const text = textOf(node);
    if (seen.has(text)) repeated.add(text);
    seen.add(text);
  }
  return [...repeated].slice(0, maxRepeated);
}

function assumptionsOn(repeated: readonly string[]): ReadonlyMap<string, boolean>[] {
  return Array.from(
    { length: 2 ** repeated.length },
    (_, bits) => new Map(repeated.map((text, at) => [text, Boolean(bits & (1 << at))])),
  );
}

function textOf({ input, range }: ASTNode): string {
  return input.slice(range.start, range.end);
}
