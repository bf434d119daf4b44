type Order = (one: number, other: number) => number;

/**
 * The items from one position (inclusive) to another (exclusive) of what sorting would give, and no more sorted than
 * they: about as quick at the end as at the beginning of a long list. Moves the items; no two may be equal in the order.
 */
export function sortedSlice(items: Uint32Array, from: number, to: number, order: Order): Uint32Array {
  if (from >= to) return new Uint32Array();
  divide(items, from, 0, items.length - 1, order);
  divide(items, to - 1, from, items.length - 1, order);
  return items.subarray(from, to).sort(order);
}

/** Hoare's selection: no item before the position stands after any behind it. */
function divide(items: Uint32Array, position: number, first: number, last: number, order: Order): void {
  const at = (index: number) => items[index] as number;
  let [low, high] = [first, last];
  while (low < high) {
    const pivot = at((low + high) >>> 1);
    let [left, right] = [low, high];
    while (left <= right) {
      while (order(at(left), pivot) < 0) left++;
      while (order(at(right), pivot) > 0) right--;
      if (left > right) break;
      const moved = at(left);
      items[left++] = at(right);
      items[right--] = moved;
    }
    if (position <= right) high = right;
    else if (position >= left) low = left;
    else return;
  }
}
