import type { FaultSpec } from '../faults.ts';
import type { Payload } from './payloads.ts';

export interface EncodedBody {
  contentType: string;
  body: string;
}

/** Writes the events of one delivery as its body: JSON, unless the faults want a form or bare call ids. */
export function encodeBody(payloads: readonly Payload[], faults: FaultSpec): EncodedBody {
  const events = payloads.length === 1 ? payloads[0] : payloads;
  if (faults.formBodies) {
    const fields = new URLSearchParams(formFields(events, ''));
    return { contentType: 'application/x-www-form-urlencoded', body: fields.toString() };
  }
  const json = JSON.stringify(events);
  return { contentType: 'application/json', body: faults.unquotedCallIds ? unquoteCallIds(json) : json };
}

/** Writes call ids as bare numbers, as a careless sender would: a reader who trusts JSON loses digits. */
function unquoteCallIds(json: string): string {
  return json.replace(/("(?:callId|UniqueId|uniqueId|calledBack|bridgedFromCallId)":)"(\d+\.\d+)"/g, '$1$2');
}

function formFields(value: unknown, name: string): [string, string][] {
  if (value === null || value === undefined) return name === '' ? [] : [[name, '']];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, part]) => formFields(part, name === '' ? key : `${name}[${key}]`));
}
