import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import { type InboxDeps, replayDelivery } from '../../inbox/stored-deliveries.ts';
import { pauseSends, resumeSends } from '../../ledger/control.ts';
import { decideOptOut } from '../../ledger/opt-outs.ts';
import { cancelSend } from '../../ledger/plans.ts';
import { settleManually } from '../../ledger/settle.ts';
import { readTargetStates } from '../../ops/target-states.ts';
import { maskKey } from '../../shared/masking.ts';
import { readAgain } from '../../sync/read-again.ts';
import { isProgram, signInOf } from '../admin.ts';
import { answering, BadAddress } from '../answering.ts';
import { renderOutage } from './frame.ts';
import { sendIdOf } from './send.ts';
import { targetOf } from './target.ts';
import { idOf, targetPath } from './view.ts';

type Route = { Params: Readonly<Record<string, string>> };

/**
 * What the pages can change, each by a POST without a body. It does what the command does, is logged with who asked for it, and
 * answers 303 to the page, which then says that it is done.
 */
export function registerActions(
  app: FastifyInstance,
  { database: { db }, pauses, notifier, log, settings }: Context,
): void {
  const inbox: InboxDeps = { db, pauses, notify: notifier.notify };
  const { publicUrl } = settings.receiver;

  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || isOwnRequest(request, publicUrl)) return;
    log.warn({ ...signInOf(request), origin: request.headers.origin }, 'An action from another site was refused');
    reply.code(403).type('text/html; charset=utf-8');
    return reply.send(
      renderOutage('This came from another site, so nothing was done. Programs send ADMIN_TOKEN as a bearer token.'),
    );
  });

  /** `act` returns the page to go to; what it did is named by `done`. */
  function action(path: string, done: string, act: (params: Route['Params'], who: string) => Promise<string>): void {
    app.post<Route>(path, async (request, reply) => {
      reply.type('text/html; charset=utf-8');
      return answering(reply, renderOutage, async () => {
        const page = await act(request.params, whoOf(request));
        const subject = page.startsWith('/targets/thread/') ? maskKey('thread', page) : page;
        log.info({ ...signInOf(request), action: done, page: subject }, 'A page changed something');
        reply.code(303).header('location', `${page}?done=${done}`);
        return '';
      });
    });
  }

  action('/deliveries/:id/replay', 'replay', async ({ id }) => {
    const replayed = await replayDelivery(inbox, idOf(id));
    if (!replayed) throw new BadAddress(`There is no delivery ${id}.`, 404);
    return `/deliveries/${id}`;
  });

  action('/targets/:kind/*', 'retry', async (params) => {
    const target = targetOf(params.kind, params['*']);
    const [known] = await readTargetStates(db, [target]);
    if (!known) throw new BadAddress('Nothing made this pending so far.', 404);
    await readAgain(inbox, target);
    return targetPath(`${target.kind} ${target.key}`);
  });

  for (const [word, state] of [
    ['sent', 'SENT'],
    ['not-sent', 'NOT_SENT'],
  ] as const) {
    action(`/sends/:id/settle/${word}`, word, async ({ id }) => {
      const sendId = sendIdOf(id);
      if (!(await settleManually(db, sendId, state))) {
        throw new BadAddress('Only a send in manual review can be settled: this one is not, or was settled meanwhile.');
      }
      return `/sends/${sendId}`;
    });
  }

  for (const decision of ['confirm', 'clear'] as const) {
    action(`/opt-outs/:number/${decision}/:seen`, `opt-out-${decision}`, async ({ number = '', seen = '' }, by) => {
      if (!/^\d{3,15}$/.test(number) || !/^\d{1,15}$/.test(seen)) throw new BadAddress('There is no such number.', 404);
      const result = await decideOptOut(db, number, decision, { by, seenAt: new Date(Number(seen)) });
      if (result === 'newer_text') throw new BadAddress('They wrote again meanwhile. Reload the page, and read it.');
      if (result === 'not_waiting') throw new BadAddress('Somebody decided meanwhile, or they wrote START.');
      return '/sends';
    });
  }

  action('/sends/:id/cancel', 'cancel', async ({ id }) => {
    const sendId = sendIdOf(id);
    if (!(await cancelSend(db, sendId))) {
      throw new BadAddress('Only a send that waits can be cancelled: a request of this one has left, or it has ended.');
    }
    return `/sends/${sendId}`;
  });
  action('/sends/pause', 'pause', async () => {
    await pauseSends(db, 'by the operator, on the page of sends');
    return '/sends';
  });
  action('/sends/resume', 'resume', async () => {
    await resumeSends(db);
    return '/sends';
  });
}

/** Who asks, as a record names them. */
function whoOf(request: FastifyRequest): string {
  const { signIn, user, address } = signInOf(request);
  return `page of sends, ${user ?? signIn} from ${address}`;
}

/**
 * Whether an admitted request comes from a page of this server, or from a program. A browser adds the cookie and the password
 * that was typed once to requests of other sites too.
 */
function isOwnRequest(request: FastifyRequest, publicUrl: string | undefined): boolean {
  if (isProgram(request)) return true;
  const { headers } = request;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  // Browsers send that header only to https and to this machine.
  const { origin, host } = headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const own = [host, publicUrl !== undefined && URL.canParse(publicUrl) ? new URL(publicUrl).host : undefined];
  return own.includes(new URL(origin).host);
}
