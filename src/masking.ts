/*
 * Keys of threads, and the refusals that quote them, hold phone numbers. Whoever watches the mirror needs to tell them
 * apart, not to know them: the last four digits are left.
 */

const callIdOrNumber = /\b\d{10}\.\d{1,12}\b|\d{7,}/g;

/** A text with every phone number masked but for its last four digits. Call ids, which name no one, stay. */
export function maskNumbers(text: string): string {
  return text.replace(callIdOrNumber, (found) => (found.includes('.') ? found : masked(found)));
}

/** The key of a target, as it may be shown: in a thread's key every run of digits is a number, short codes included. */
export function maskKey(kind: string, key: string): string {
  return kind === 'thread' ? key.replace(/\d{5,}/g, masked) : maskNumbers(key);
}

/** A target as the inbox names it, `kind key`, as it may be shown. */
export function maskTarget(target: string): string {
  const [kind = '', key = ''] = target.split(/ (.*)/s, 2);
  return `${kind} ${maskKey(kind, key)}`;
}

/** The address of a store as it may be shown: without a password. */
export function withoutPassword(address: string): string {
  // A user may stand before no host, where a parameter names the folder of a Unix socket.
  const url = new URL(address.replace('@/', '@socket/'));
  url.password = '';
  for (const name of ['password', 'sslpassword']) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return url.href.replace('@socket/', '@/');
}

/** A tree of JSON with every text in it masked; a text of digits alone under the name `id` names a row, and stays. */
export function maskTree(node: unknown, name = ''): unknown {
  if (typeof node === 'string') return name === 'id' && /^\d+$/.test(node) ? node : maskNumbers(node);
  if (Array.isArray(node)) return node.map((each) => maskTree(each));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [maskNumbers(key), maskTree(value, key)]));
}

function masked(digits: string): string {
  return `…${digits.slice(-4)}`;
}
