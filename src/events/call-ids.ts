/** The fields of an object in a delivery, by their normalised names. */
export type Fields = Readonly<Record<string, unknown>>;

const callId = /^\d{9,11}\.\d{1,12}$/;

/** The call ids under the names that only a call has. */
export function namedCalls({ callid, callids, call }: Fields): readonly string[] {
  if (callid === undefined && callids === undefined && typeof call !== 'string') return [];
  return [...callIdsIn(callid), ...callIdsIn(callids), ...(typeof call === 'string' ? callIdsIn(call) : [])];
}

/** The call ids under the first of the names that a call has where none is named as such. */
export function unnamedCalls({ uniqueid, id }: Fields): readonly string[] {
  const ids = callIdsIn(uniqueid);
  return ids.length > 0 ? ids : callIdsIn(id);
}

/** Only text counts: an integer is the id of something else, a transcript or a message. */
function callIdsIn(field: unknown): string[] {
  if (Array.isArray(field)) return field.flatMap((entry) => (typeof entry === 'string' ? callIdsIn(entry) : []));
  if (typeof field !== 'string') return [];
  const id = field.trim();
  return callId.test(id) ? [id] : [];
}
