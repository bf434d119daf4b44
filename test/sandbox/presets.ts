import type { FaultInput } from '../../src/sandbox/faults/spec.ts';

type Answer = Extract<FaultInput, { kind: 'answer' }>;

/** The page of a proxy; with status 200 it looks like a success. */
export function proxyPage(status: number): Answer {
  return { kind: 'answer', status, headers: { 'content-type': 'text/html' }, body: '<html><h1>A proxy</h1></html>' };
}

/** JSON of an intermediary, without the envelope of section 7. */
export const bareRefusal: Answer = {
  kind: 'answer',
  status: 403,
  headers: { 'content-type': 'application/json' },
  body: '{"message":"Forbidden by policy"}',
};

export const redirect: Answer = { kind: 'answer', status: 302, headers: { location: '/elsewhere' }, body: '' };

/** JSON without its end, with a matching length. */
export const truncated: Extract<FaultInput, { kind: 'rewrite' }> = { kind: 'rewrite', pattern: '[^]{20}$' };

/** Paging state beside `data` (section 8). */
export const siblings: Extract<FaultInput, { kind: 'edit' }> = {
  kind: 'edit',
  path: 'paging',
  value: { next: 'eyJwIjoyfQ', hasMore: true },
};
