const quoted = /("(?:id|callId|UniqueId|uniqueId|calledBack|bridgedFromCallId)":)"(\d{9,11}\.\d{1,12})"/g;

/** Writes call ids as bare numbers, as a careless sender would: a reader who trusts JSON loses digits. */
export function unquoteCallIds(json: string): string {
  return json.replace(quoted, '$1$2');
}
