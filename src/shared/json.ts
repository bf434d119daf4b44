/** The keys whose bare `digits.digits` values are call ids, not amounts. */
const callIdKeys = new Set(['callid', 'callids', 'uniqueid', 'calledback', 'bridgedfromcallid', 'id']);
/** Under this key, a value is a call id only if it has the shape of one: it may be a price. */
const callKey = 'call';

// These three only decide whether the slow reviver is needed: a false match costs time, but no digits.
const bareDecimal = /"\s*:\s*\d+\.\d/g;
const bareCallIdInArray = /[[,]\s*\d{9,11}\.\d/;
// Written out because V8 is much slower on `{16}`.
const longInteger = new RegExp('\\d'.repeat(16));

const digitsDotDigits = /^\d+\.\d+$/;
const callIdShape = /^\d{9,11}\.\d{1,12}$/;
const integer = /^-?\d+$/;

/** Normalizes a key for comparison: lower case, no punctuation, so that `Call-ID` equals `call_id`. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9\u0080-\uffff]+/g, '');
}

/**
 * `JSON.parse` that never lets an identifier become another number (specification 2.9: a call id "must be kept as a
 * string"). Bare `digits.digits` under a call-id key, call-id-shaped elements of arrays, and integers beyond
 * `Number.MAX_SAFE_INTEGER` are returned as the text that was written. A leading byte order mark is ignored.
 * Throws `SyntaxError` as `JSON.parse` does, and `RangeError` for such numbers in a text nested thousands of levels deep.
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
  const isIdentifier = Array.isArray(this)
    ? callIdShape.test(source)
    : digitsDotDigits.test(source) && isCallId(plainKey(key), source);
  const isRounded = !Number.isSafeInteger(value) && integer.test(source);
  return isIdentifier || isRounded ? source : value;
}

function isCallId(key: string, source: string): boolean {
  return callIdKeys.has(key) || (key === callKey && callIdShape.test(source));
}
