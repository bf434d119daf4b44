import { isCallId } from './call-id.ts';

/** Keys whose bare `digits.digits` values are call ids, not amounts. */
const callIdKeys = new Set(['callid', 'callids', 'uniqueid', 'calledback', 'bridgedfromcallid', 'id']);
/** A value under this key is a call id only if it looks like one: it may be a price. */
const callKey = 'call';

// These only decide whether the slow reviver is needed. A false match costs time, but no digits.
const bareDecimal = /"\s*:\s*\d+\.\d/g;
const bareCallIdInArray = /[[,]\s*\d{9,11}\.\d/;
// Written out because V8 is much slower on `{16}`.
const longInteger = new RegExp('\\d'.repeat(16));

const digitsDotDigits = /^\d+\.\d+$/;
const integer = /^-?\d+$/;

/** Normalizes a key for comparison: lower case, no punctuation, so that `Call-ID` equals `call_id`. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9\u0080-\uffff]+/g, '');
}

/**
 * `JSON.parse` that never rounds an identifier (specification 2.9: a call id "must be kept as a string"). Returns these
 * as the original text: bare `digits.digits` under a call-id key, array elements that look like call ids, and integers
 * beyond `Number.MAX_SAFE_INTEGER`. Ignores a leading byte order mark. Throws `SyntaxError` like `JSON.parse`, and
 * `RangeError` for such numbers nested thousands of levels deep.
 */
export function parseJson(text: string): unknown {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  return mayLoseDigits(json) ? JSON.parse(json, keepDigits) : JSON.parse(json);
}

function mayLoseDigits(json: string): boolean {
  if (longInteger.test(json)) return true;
  if (!json.includes('.')) return false;
  for (const { index } of json.matchAll(bareDecimal)) {
    const key = plainKey(json.slice(json.lastIndexOf('"', index - 1) + 1, index));
    if (callIdKeys.has(key) || key === callKey) return true;
  }
  return bareCallIdInArray.test(json);
}

function keepDigits(this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const { source } = context;
  const name = digitsDotDigits.test(source) ? plainKey(key) : '';
  const isIdentifier = Array.isArray(this)
    ? isCallId(source)
    : callIdKeys.has(name) || (name === callKey && isCallId(source));
  const isRounded = !Number.isSafeInteger(value) && integer.test(source);
  return isIdentifier || isRounded ? source : value;
}
