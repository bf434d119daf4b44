import { z } from 'zod';
import type { Call } from '../../account.ts';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { notFound, permissionDenied } from '../../http/errors.ts';
import { dataOf } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { recordingsOf, transcriptsOf } from '../../resources/artefacts.ts';
import { callSchema, recordingSchema, transcriptSchema } from '../../resources/call-schemas.ts';
import { callWithLegs } from '../../resources/calls.ts';

const callPath = z.object({
  callid: z
    .string()
    .regex(/^\d{9,11}\.\d{1,12}$/, 'must be a unix timestamp, a dot and a sequence number, as in 1700000000.12345'),
});

const tags = tag('4.6');
const recordings = { scope: 'recordings:read', permission: 'recordings' } as const;

/** GET /calls/{callid}, its recordings and its transcripts (4.6). */
export function callRoutes(api: Api, { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>): void {
  function requireCall(id: string): Call {
    const call = store.calls.get(id);
    if (call === undefined) throw notFound(`the call ${id}`);
    return call;
  }

  api.get(
    '/calls/:callid',
    {
      config: { scope: 'reports:read', permission: 'callReports' },
      schema: {
        operationId: 'getCall',
        summary: 'One call with its legs',
        tags,
        params: callPath,
        response: { 200: dataOf(callSchema) },
      },
    },
    ({ params }) => ({ data: callWithLegs(requireCall(params.callid)) }),
  );

  api.get(
    '/calls/:callid/recordings',
    {
      config: recordings,
      schema: {
        operationId: 'listRecordings',
        summary: 'Recordings of a call',
        description: 'Empty is normal: nothing was recorded, or not yet written.',
        tags,
        params: callPath,
        response: { 200: dataOf(z.array(recordingSchema)) },
      },
    },
    ({ params }) => {
      if (store.settings.get('account')?.sensitiveContent) {
        throw permissionDenied('sensitive content must be verified again on this account, which the API cannot do');
      }
      return { data: recordingsOf(requireCall(params.callid), now().getTime(), links) };
    },
  );

  api.get(
    '/calls/:callid/transcripts',
    {
      config: recordings,
      schema: {
        operationId: 'listTranscripts',
        summary: 'Transcripts of a call',
        description: 'Empty is normal: not recorded, too short, or unfinished.',
        tags,
        params: callPath,
        response: { 200: dataOf(z.array(transcriptSchema)) },
      },
    },
    ({ params }) => ({ data: transcriptsOf(requireCall(params.callid), now().getTime()) }),
  );
}
