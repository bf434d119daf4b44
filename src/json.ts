/** The keys whose bare `digits.digits` values are call ids, not amounts. */
const callIdKeys = new Set(['callid', 'call_id', 'uniqueid', 'calledback', 'bridgedfromcallid', 'id']);

// These three only decide whether the reviver is worth its price: too many hits cost time, never exactness.
const bareCallId = /"(?:call_?id|uniqueid|calledback|(?:bridgedfromcall)?id)"\s*:\s*\d+\.\d/i;
const bareCallIdInArray = /[[,]\s*\d{9,11}\.\d/;
// Spelled out because the engine leaps sixteen characters at a time over a sequence, and creeps through a `{16}`.
const longInteger = new RegExp('\\d'.repeat(16));

const digitsDotDigits = /^\d+\.\d+$/;
const callIdShape = /^\d{9,11}\.\d{1,12}$/;
const integer = /^-?\d+$/;

/**
 * `JSON.parse` that never lets an identifier become another number (specification 2.9: a call id "must be kept as a
 * string"). Bare `digits.digits` under a call-id key, call-id-shaped elements of arrays, and integers beyond
 * `Number.MAX_SAFE_INTEGER` come back as the text that was written. A leading byte order mark is ignored.
 * Throws `SyntaxError` as `JSON.parse` does, and `RangeError` where such numbers stand in a text nested thousands deep.
 */
export function parseJson(text: string): unknown {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  return mayLoseDigits(json) ? JSON.parse(json, keepDigits) : JSON.parse(json);
}

function mayLoseDigits(json: string): boolean {
  if (longInteger.test(json)) return true;
  return json.includes('.') && (bareCallId.test(json) || bareCallIdInArray.test(json));
}

function keepDigits(this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const { source } = context;
  const isIdentifier = Array.isArray(this)
    ? callIdShape.test(source)
    : callIdKeys.has(key.toLowerCase()) && digitsDotDigits.test(source);
  const isRounded = !Number.isSafeInteger(value) && integer.test(source);
  return isIdentifier || isRounded ? source : value;
}
