import { z } from 'zod';
import type { Call } from '../../account.ts';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { dataOf } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { callSummarySchema } from '../../resources/call-schemas.ts';
import { callSummary } from '../../resources/calls.ts';
import { callTests } from './filters.ts';
import { type SearchRequest, searchRequest } from './search-request.ts';

const page = z
  .object({
    total: z.int().describe('Across all pages.'),
    limit: z.int().describe('As applied.'),
    offset: z.int(),
    calls: z.array(callSummarySchema),
  })
  .meta({ id: 'CallPage' });

/** POST /calls/search (4.6): the calls of a window, newest first unless told otherwise. */
export function callSearchRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const schema = {
    operationId: 'searchCalls',
    summary: 'Call history',
    tags: tag('4.6'),
    body: searchRequest,
    response: { 200: dataOf(page) },
  };
  api.post('/calls/search', { config: { scope: 'reports:read', permission: 'callReports' }, schema }, ({ body }) => {
    const request = body;
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
