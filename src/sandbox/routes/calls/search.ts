import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { dataOf } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { callSummarySchema } from '../../resources/call-schemas.ts';
import { callSummary } from '../../resources/calls.ts';
import { searchCalls } from '../../search/search.ts';
import { searchRequest } from './search-request.ts';

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
    const { total, calls } = searchCalls(store, body, now().getTime());
    return { data: { total, limit: body.limit, offset: body.offset, calls: calls.map(callSummary) } };
  });
}
