import type { FastifyInstance } from 'fastify';
import type { Call } from '../../account.ts';
import type { Context } from '../../context.ts';
import { validate } from '../../http/validation.ts';
import { callSummary } from '../../resources/calls.ts';
import { callTests } from './filters.ts';
import { type SearchRequest, searchRequest } from './search-request.ts';

/** POST /calls/search (4.6): the calls of a window, newest first unless told otherwise. */
export function callSearchRoutes(app: FastifyInstance, { store, now }: Pick<Context, 'store' | 'now'>): void {
  app.post('/calls/search', { config: { scope: 'reports:read' } }, ({ body }) => {
    const request = validate(searchRequest, body);
    const { start, end, limit, offset, sort } = request;
    const tests = callTests(request, store.users, now().getTime());
    if (tests.length === 0 && (sort === undefined || sort.field === 'startTime')) {
      const order = sort?.direction === 'asc' ? 'oldest first' : 'newest first';
      const { total, calls } = store.calls.page(start, end, { offset, limit, order });
      return { data: { total, limit, offset, calls: calls.map(callSummary) } };
    }
    const found = store.calls.between(start, end).filter((call) => tests.every((test) => test(call)));
    const calls = arrange(found, sort).slice(offset, offset + limit);
    return { data: { total: found.length, limit, offset, calls: calls.map(callSummary) } };
  });
}

/** From oldest first to the order asked for; what is equal in another field stands newest first. */
function arrange(calls: Call[], sort: SearchRequest['sort']): Call[] {
  if (sort?.field === 'startTime' && sort.direction === 'asc') return calls;
  const newestFirst = calls.toReversed();
  if (sort === undefined || sort.field === 'startTime') return newestFirst;
  const sign = sort.direction === 'asc' ? 1 : -1;
  return newestFirst
    .map((call) => ({ call, value: callSummary(call)[sort.field] }))
    .sort((one, other) => sign * compare(one.value, other.value))
    .map(({ call }) => call);
}

/** What is absent stands before everything else. */
function compare(one: string | number | boolean | undefined, other: string | number | boolean | undefined): number {
  if (one === other) return 0;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  return one < other ? -1 : 1;
}
