import { eventTypes } from '../account.ts';
import { unquoteCallIds } from '../faults/call-ids.ts';
import type { DeliveryFault } from '../faults/deliveries.ts';
import type { Payload } from './payloads.ts';

export interface EncodedBody {
  contentType: string;
  body: string;
}

/** Writes the events of one delivery as its body: JSON, unless the faults want it otherwise. */
export function encodeBody(payloads: readonly Payload[], faults: readonly DeliveryFault[]): EncodedBody {
  const typed = payloads.map((payload) => faults.reduce(retype, payload));
  const events = faults.reduce<unknown>(wrap, typed.length === 1 ? typed[0] : typed);
  if (faults.some(({ kind }) => kind === 'form')) {
    const body = faults.reduce(damage, new URLSearchParams(formFields(events)).toString());
    return { contentType: 'application/x-www-form-urlencoded', body };
  }
  return { contentType: 'application/json', body: faults.reduce(damage, JSON.stringify(events)) };
}

/** Fields as a form or a query names them: `cdrs[0][status]`. */
export function formFields(value: unknown, name = ''): [string, string][] {
  if (value === null || value === undefined) return name === '' ? [] : [[name, '']];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, part]) => formFields(part, name === '' ? key : `${name}[${key}]`));
}

function retype(payload: Payload, { kind }: DeliveryFault): Payload {
  if (kind === 'unknownType') return { ...payload, webhookType: 'AccountHolograms' };
  if (kind !== 'contradictingType') return payload;
  return { ...payload, webhookType: eventTypes.find((type) => type !== payload.webhookType) };
}

function wrap(events: unknown, fault: DeliveryFault): unknown {
  if (fault.kind !== 'wrapped') return events;
  switch (fault.as) {
    case 'nested':
      return { event: 'notification', data: { object: events } };
    case 'array':
      return Array.isArray(events) ? events : [events];
    case 'stringified':
      return { payload: JSON.stringify(events) };
  }
}

function damage(body: string, { kind }: DeliveryFault): string {
  switch (kind) {
    case 'unquotedCallIds':
      return unquoteCallIds(body);
    case 'malformed':
      return `${body.slice(0, -1)},,'`;
    case 'truncated':
      return body.slice(0, Math.ceil(body.length / 2));
    case 'empty':
      return '';
    default:
      return body;
  }
}
