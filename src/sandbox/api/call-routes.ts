import { z } from 'zod';
import type { Call } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { notFound, permissionDenied } from '../http/errors.ts';
import { settingsOf } from '../store/store.ts';
import { callSummary, callWithLegs, recordingsOf, transcriptsOf } from './call-resource.ts';
import { searchCalls, searchRequest } from './call-search.ts';

const callPath = z.object({
  callid: z
    .string()
    .regex(/^\d{9,11}\.\d{1,12}$/, 'must be a unix timestamp, a dot and a sequence number, as in 1700000000.12345'),
});

const recordings = { scope: 'recordings:read', permission: 'recordings' } as const;

/** GET /calls/{callid}, its recordings and its transcripts (4.6). */
export function callRoutes(api: Api, { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>): void {
  function requireCall(id: string): Call {
    const call = store.calls.get(id);
    if (call === undefined) throw notFound(`the call ${id}`);
    return call;
  }

  api.get('/calls/:callid', {
    config: { scope: 'reports:read', permission: 'callReports' },
    schema: { operationId: 'getCall', params: callPath },
    handler: ({ params }) => ({ data: callWithLegs(requireCall(params.callid), now().getTime()) }),
  });

  api.get('/calls/:callid/recordings', {
    config: recordings,
    schema: { operationId: 'listRecordings', params: callPath },
    handler: ({ params }) => {
      if (settingsOf(store).sensitiveContent) {
        throw permissionDenied('this account requires re-verification for sensitive content, which the API cannot do');
      }
      return { data: recordingsOf(requireCall(params.callid), now().getTime(), links) };
    },
  });

  api.get('/calls/:callid/transcripts', {
    config: recordings,
    schema: { operationId: 'listTranscripts', params: callPath },
    handler: ({ params }) => ({ data: transcriptsOf(requireCall(params.callid), now().getTime()) }),
  });
}

/** POST /calls/search (4.6): the calls of a time window, by default newest first. */
export function callSearchRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post('/calls/search', {
    config: { scope: 'reports:read', permission: 'callReports' },
    schema: { operationId: 'searchCalls', body: searchRequest },
    handler: ({ body }) => {
      const { total, calls } = searchCalls(store, body, now().getTime());
      return { data: { total, limit: body.limit, offset: body.offset, calls: calls.map(callSummary) } };
    },
  });
}
