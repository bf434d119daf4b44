/*
 * Thread keys, and errors that quote them, contain phone numbers. Logs and pages show only the last four digits, which are enough
 * to tell them apart.
 */

const callIdOrNumber = /\b\d{10}\.\d{1,12}\b|\d{7,}/g;

/** Masks every phone number in a text except its last four digits. Call ids identify nobody and stay. */
export function maskNumbers(text: string): string {
  return text.replace(callIdOrNumber, (found) => (found.includes('.') ? found : masked(found)));
}

/** Masks the key of a target. In a thread's key every run of five digits is a number, so that short codes are masked too. */
export function maskKey(kind: string, key: string): string {
  return kind === 'thread' ? key.replace(/\d{5,}/g, masked) : maskNumbers(key);
}

/** Masks a target as the inbox writes it: `kind key`. */
export function maskTarget(target: string): string {
  const [kind = '', key = ''] = target.split(/ (.*)/s, 2);
  return `${kind} ${maskKey(kind, key)}`;
}

/** The address of a store without its password. */
export function withoutPassword(address: string): string {
  // With the folder of a Unix socket as a parameter, the host after the user is empty, which `URL` refuses.
  const url = new URL(address.replace('@/', '@socket/'));
  url.password = '';
  for (const name of ['password', 'sslpassword']) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return url.href.replace('@socket/', '@/');
}

function masked(digits: string): string {
  return `…${digits.slice(-4)}`;
}
