import { type Document, isMap, isNode, isPair, isScalar, type LineCounter, type Node, type Scalar } from 'yaml';

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Finds where in the file things stand that are wrong. */
export interface Places {
  /** The value at a path, or the nearest thing around it. */
  ofValue(path: readonly PropertyKey[]): Place;
  /** The key at the end of a path. */
  ofKey(path: readonly PropertyKey[]): Place;
  /** A character of the text at a path, whichever way YAML writes that text. */
  within(path: readonly PropertyKey[], offset: number): Place;
  at(offset: number): Place;
}

export function placesOf(source: string, document: Document, lines: LineCounter): Places {
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  function nodeAt(path: readonly PropertyKey[]): Node | undefined {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return node;
    }
    return undefined;
  }

  return {
    at,
    ofValue: (path) => at(nodeAt(path)?.range?.[0] ?? 0),
    ofKey(path) {
      const map = document.getIn(path.slice(0, -1), true) ?? document.contents;
      const parent = path.length === 1 ? document.contents : map;
      const pair = isMap(parent)
        ? parent.items.find((each) => isPair(each) && isScalar(each.key) && each.key.value === path.at(-1))
        : undefined;
      const range = isScalar(pair?.key) ? pair.key.range : undefined;
      return range ? at(range[0]) : this.ofValue(path);
    },
    within(path, offset) {
      const node = document.getIn(path, true);
      if (!isScalar(node) || !node.range) return this.ofValue(path);
      return at(sourceOffset(source, node, offset));
    },
  };
}

/**
 * Where a character of a scalar's value stands in the source. Quotes, folds, indents and escapes make them differ, so both
 * are walked side by side: whatever of the source is not the value's next character is YAML's.
 */
function sourceOffset(source: string, node: Scalar, offset: number): number {
  const [start, end] = node.range ?? [0, 0];
  const value = String(node.value);
  const isBlock = node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL';
  const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
  let at = isBlock ? source.indexOf('\n', start) + 1 : start + (isQuoted ? 1 : 0);
  for (let index = 0; index < value.length && at < end; index += 1) {
    const character = value[index] as string;
    if (/\s/.test(character)) {
      if (index === offset) return at;
      if (/\s/.test(source[at] ?? '')) at += 1;
      // A fold is one space in the value; a new line brings its indent.
      const next = value[index + 1];
      if (next !== undefined && !/\s/.test(next)) while (/\s/.test(source[at] ?? '') && at < end) at += 1;
      continue;
    }
    while (source[at] !== character && at < end) at += 1;
    if (index === offset) return at;
    at += 1;
  }
  return Math.min(at, Math.max(start, end - (isQuoted ? 1 : 0)));
}
