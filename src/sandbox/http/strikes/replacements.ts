import type { AnswerFault } from '../../faults/answers.ts';
import { errorEnvelope, typeOfStatus } from '../errors.ts';

/** An answer in the place of the right one. */
export interface Replacement {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What a fault answers before the request is carried out, or after; undefined when it replaces nothing then. */
export function replacementFor(fault: AnswerFault, moment: 'before' | 'after', now: Date): Replacement | undefined {
  if (!('when' in fault) || fault.when !== moment) return undefined;
  switch (fault.kind) {
    case 'error': {
      const envelope = errorEnvelope(typeOfStatus(fault.status), 'injected by the sandbox');
      return { ...json(fault.status, envelope, retryAfter(fault, now)) };
    }
    case 'html':
      return { status: fault.status, headers: { 'content-type': 'text/html' }, body: page(fault.status) };
    case 'bare':
      return json(fault.status, { message: 'Forbidden by policy', requestId: 'd41d8cd98f00' });
    case 'empty':
      return { status: fault.status, headers: {}, body: '' };
    case 'redirect':
      return { status: fault.status, headers: { location: fault.location }, body: '' };
    default:
      return undefined;
  }
}

function json(status: number, value: unknown, headers: Record<string, string> = {}): Replacement {
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(value) };
}

function retryAfter(
  { retryAfterSeconds: seconds, retryAfterAs: form }: Extract<AnswerFault, { kind: 'error' }>,
  now: Date,
): Record<string, string> {
  if (seconds === null) return {};
  return {
    'retry-after': form === 'seconds' ? String(seconds) : new Date(now.getTime() + seconds * 1000).toUTCString(),
  };
}

function page(status: number): string {
  return `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${status}</h1></center>\r\n</body>\r\n</html>\r\n`;
}
