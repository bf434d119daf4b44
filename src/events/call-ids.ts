const callId = /^\d{9,11}\.\d{1,12}$/;

/** The call ids under the names that only a call has. */
export function namedCalls(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const { callid, callids } = fields;
  if (callid === undefined && callids === undefined) return [];
  return [...callIdsIn(callid), ...callIdsIn(callids)];
}

/** Only text counts: an integer is the id of something else, a transcript or a message. */
export function callIdsIn(field: unknown): string[] {
  if (Array.isArray(field)) return field.flatMap((entry) => (typeof entry === 'string' ? callIdsIn(entry) : []));
  if (typeof field !== 'string') return [];
  const id = field.trim();
  return callId.test(id) ? [id] : [];
}
