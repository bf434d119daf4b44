import type { FastifyInstance } from 'fastify';
import type { Call } from '../../account.ts';
import type { Context } from '../../context.ts';
import { invalidRequest, notFound } from '../../http/errors.ts';
import { recordingsOf, transcriptsOf } from '../../resources/artefacts.ts';
import { callWithLegs } from '../../resources/calls.ts';

interface CallPath {
  Params: { callid: string };
}

/** GET /calls/{callid}, its recordings and its transcripts (4.6). */
export function callRoutes(
  app: FastifyInstance,
  { store, links, now }: Pick<Context, 'store' | 'links' | 'now'>,
): void {
  function requireCall(id: string): Call {
    if (!/^\d{9,11}\.\d{1,12}$/.test(id)) {
      throw invalidRequest(
        `callid must be a unix timestamp, a dot and a sequence number, as in 1700000000.12345; got ${JSON.stringify(id)}`,
      );
    }
    const call = store.calls.get(id);
    if (call === undefined) throw notFound(`the call ${id}`);
    return call;
  }

  app.get<CallPath>('/calls/:callid', { config: { scope: 'reports:read' } }, ({ params }) => ({
    data: callWithLegs(requireCall(params.callid)),
  }));

  app.get<CallPath>('/calls/:callid/recordings', { config: { scope: 'recordings:read' } }, ({ params }) => ({
    data: recordingsOf(requireCall(params.callid), now().getTime(), links),
  }));

  app.get<CallPath>('/calls/:callid/transcripts', { config: { scope: 'recordings:read' } }, ({ params }) => ({
    data: transcriptsOf(requireCall(params.callid), now().getTime()),
  }));
}
