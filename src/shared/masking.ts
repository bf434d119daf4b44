/*
 * Thread keys, and errors that quote them, contain phone numbers. Logs and pages show only the last four digits, which are enough
 * to tell them apart.
 */

/** Digits that are no phone number: days, moments, addresses of machines, UUIDs and call ids, which identify nobody. */
const noNumber = String.raw`(?<![\p{Nd}.])(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|\d\d?\/\d\d?\/\d{4}|\d{1,3}(?:\.\d{1,3}){3}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{10}\.\d{1,12})(?![\p{Nd}])`;
/** People separate the digits of a number with these; commas and colons end it. */
const gap = String.raw`[\s\p{Z}\p{Cf}\p{Pd}()[\]./_*~+·•・]{1,6}`;
const digits = new RegExp(`${noNumber}|\\(?\\p{Nd}+(?:${gap}(?!${noNumber})\\p{Nd}+)*`, 'giu');
const minDigits = 7;
/** So many in a row are a number by themselves, whatever stands beside them. */
const wholeNumber = /\p{Nd}{10,}/gu;

/** Masks every phone number in a text except its last four digits, however its digits are separated. */
export function maskNumbers(text: string): string {
  return text.replace(digits, (found) => (isNoNumber.test(found) ? found : maskRun(found)));
}

const isNoNumber = new RegExp(`^${noNumber}$`, 'iu');

function maskRun(found: string): string {
  let kept = '';
  let at = 0;
  for (const { 0: whole, index } of found.matchAll(wholeNumber)) {
    kept += maskPart(found.slice(at, index)) + masked(whole);
    at = index + whole.length;
  }
  return kept + maskPart(found.slice(at));
}

/** Masks the digits of one number, with what separates them. */
function maskPart(part: string): string {
  const plain = part.replace(/\P{Nd}+/gu, '');
  if ([...plain].length < minDigits) return part;
  const begin = /^[^\p{Nd}(]*/u.exec(part)?.[0] ?? '';
  const end = /\P{Nd}*$/u.exec(part)?.[0] ?? '';
  return `${begin}${masked(plain)}${end}`;
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

function masked(number: string): string {
  return `…${[...number].slice(-4).join('')}`;
}
