/*
 * Thread keys, and errors that quote them, contain phone numbers. Logs and pages only show the last four digits, which
 * are enough to tell them apart.
 */

/** Digits that aren't a phone number and identify nobody: dates, times, IP addresses, UUIDs and call ids. */
const noNumber = String.raw`(?<![\p{Nd}.])(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|\d\d?\/\d\d?\/\d{4}|\d{1,3}(?:\.\d{1,3}){3}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{10}\.\d{1,12})(?![\p{Nd}])`;
/** Separators that people put between the digits of a number. Commas and colons end it. */
const gap = String.raw`[\s\p{Z}\p{Cf}\p{Pd}()[\]./_*~+·•・]{1,6}`;
const digits = new RegExp(`${noNumber}|\\(?\\p{Nd}+(?:${gap}(?!${noNumber})\\p{Nd}+)*`, 'giu');
const minDigits = 7;
/** This many digits in a row are a number by themselves, whatever is next to them. */
const wholeNumber = /\p{Nd}{10,}/gu;

/** Masks every phone number in a text except its last four digits, however the digits are separated. */
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

/** Masks the digits of one number and their separators. */
function maskPart(part: string): string {
  const plain = part.replace(/\P{Nd}+/gu, '');
  if ([...plain].length < minDigits) return part;
  const begin = /^[^\p{Nd}(]*/u.exec(part)?.[0] ?? '';
  const end = /\P{Nd}*$/u.exec(part)?.[0] ?? '';
  return `${begin}${masked(plain)}${end}`;
}

/**
 * Masks the key of a target. In a thread key, every run of five digits counts as a number, so short codes are masked
 * too.
 */
export function maskKey(kind: string, key: string): string {
  return kind === 'thread' ? key.replace(/\d{5,}/g, masked) : maskNumbers(key);
}

/** The address of a store without its password. */
export function withoutPassword(address: string): string {
  // If a parameter names the folder of a Unix socket, the host is empty, which `URL` refuses.
  const url = new URL(address.replace('@/', '@socket/'));
  url.password = '';
  for (const name of ['password', 'sslpassword']) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return url.href.replace('@socket/', '@/');
}

function masked(number: string): string {
  return `…${[...number].slice(-4).join('')}`;
}
