/*
 * A fault says why the service must refuse a request: which field, what limit, how to cure it, and the section that says
 * so. It never quotes what may be a number, a text or an address. `undefined` is none: what the specification leaves open
 * is for the service to judge.
 */

/** The fault of the first item that has one. */
export function firstFault<T>(
  items: readonly T[],
  faultOf: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = faultOf(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
