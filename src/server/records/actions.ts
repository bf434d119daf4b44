import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { approveSend } from '../../ledger/approvals.ts';
import { pauseSends, resumeSends } from '../../ledger/control.ts';
import { decideOptOut } from '../../ledger/opt-outs.ts';
import { settleManually } from '../../ledger/outcome.ts';
import { cancelSend, rejectSend } from '../../ledger/plans.ts';
import { readSend } from '../../ledger/send.ts';
import { decidedWords } from '../../ledger/words.ts';
import { retryTelling } from '../../rules/actions/tell.ts';
import { rollbackRules } from '../../rules/versions.ts';
import { UserError } from '../../shared/errors.ts';
import { idOf } from '../address.ts';
import { isProgram, signInOf } from '../auth.ts';
import { BadAddress, sendSentence } from '../errors.ts';
import type { Pages } from '../table.ts';
import { changeOf, fieldOf, maxFormBytes, whoDecides } from './forms.ts';
import { appliedRules, registerRulesEditor } from './rules-edit.ts';
import { versionOf } from './rules-version.ts';
import { sendIdOf } from './send.ts';
import type { View } from './view.ts';

/** What a POST of a page asks for. */
interface Asked {
  readonly db: Database;
  readonly params: Readonly<Record<string, string>>;
  readonly request: FastifyRequest;
}

/** A change that a page can make. It does the same as the command. */
interface Action {
  readonly path: string;
  /** The message on the page afterwards. */
  readonly done: string;
  /** Returns the page to redirect to. Throws `BadAddress`. */
  readonly act: (asked: Asked) => Promise<string>;
}

/** By the name that appears in the page's address afterwards. */
const actions: Readonly<Record<string, Action>> = {
  'retry-steps': {
    path: '/rules/explain/:id/retry/:run',
    done: 'It is sent again. The steps below change within seconds.',
    async act({ db, params: { id, run } }) {
      if ((await retryTelling(db, { runIds: [idOf(run)] })) > 0)
        return `/rules/explain/${encodeURIComponent(id ?? '')}`;
      throw new BadAddress('Nothing of this run can be sent again: nothing failed, or it is under way.');
    },
  },
  approve: aboutSend('approve/:seen', {
    done: 'Approved. It leaves within seconds if every gate still lets it pass; below is what came of it.',
    async act(db, sendId, { by, seen = '', text }) {
      const result = await approveSend(db, sendId, { by, seen, ...(text !== '' && { text }) });
      if (result !== 'changed') return result === 'done';
      throw new BadAddress('The text was changed, or they wrote again, meanwhile. Open the page again, and read it.');
    },
  }),
  reject: aboutSend('reject', { done: 'Rejected: it will never be sent.', act: rejectSend }),
  cancel: aboutSend('cancel', { done: 'Cancelled: it will never be sent.', act: cancelSend }),
  settle: aboutSend('settle/:outcome', {
    done: 'Settled, and nothing was sent again: the cost below says what counts.',
    async act(db, sendId, { by, outcome }) {
      if (outcome === 'sent') return settleManually(db, sendId, 'SENT', { by });
      if (outcome === 'not-sent') return settleManually(db, sendId, 'NOT_SENT', { by });
      throw new BadAddress('There is no such outcome.', 404);
    },
  }),
  pause: {
    path: '/sends/pause',
    done: 'All texts are paused. Requests that were under way finish.',
    act: ({ db, request }) => pauseSends(db, `by ${whoDecides(request)}`).then(() => '/sends'),
  },
  resume: {
    path: '/sends/resume',
    done: 'Texts are resumed, as far as RULES_MODE allows.',
    act: ({ db, request }) => resumeSends(db, `by ${whoDecides(request)}`).then(() => '/sends'),
  },
  'opt-out': {
    path: '/opt-outs/:number/:decision/:seen',
    done: 'Recorded: below is who decided.',
    async act({ db, params: { number = '', decision, seen = '' }, request }) {
      if (!/^\d{3,15}$/.test(number) || !/^\d{1,15}$/.test(seen)) throw new BadAddress('There is no such number.', 404);
      if (decision !== 'confirm' && decision !== 'clear') throw new BadAddress('There is no such decision.', 404);
      const decided = { by: whoDecides(request), seenAt: new Date(Number(seen)) };
      const result = await decideOptOut(db, number, decision, decided);
      if (result === 'newer_text') throw new BadAddress('They wrote again meanwhile. Reload the page, and read it.');
      if (result === 'not_waiting') throw new BadAddress('Somebody decided meanwhile, or they wrote START.');
      return '/opt-outs';
    },
  },
  'rules-rollback': {
    path: '/rules/history/:id/roll-back',
    done: 'The earlier text is in force again, for all workers, as a new version.',
    async act({ db, params: { id }, request }) {
      await rollbackRules(db, { ...changeOf(request), to: versionOf(id) }).catch((error: unknown) => {
        // Among them a text that this release does not understand.
        throw error instanceof UserError ? new BadAddress(error.message, 409) : error;
      });
      return '/rules';
    },
  },
};

interface SendDecision {
  readonly by: string;
  readonly seen: string | undefined;
  readonly outcome: string | undefined;
  /** As changed; empty without a change. */
  readonly text: string;
}

/** A decision about a text, which is refused once somebody has decided before or a request has left. */
function aboutSend(
  path: string,
  { done, act }: { done: string; act: (db: Database, sendId: string, decided: SendDecision) => Promise<boolean> },
): Action {
  return {
    path: `/sends/:id/${path}`,
    done,
    async act({ db, params: { id, seen, outcome }, request }) {
      const sendId = sendIdOf(id);
      const decided = { by: whoDecides(request), seen, outcome, text: fieldOf(request, 'text').trim() };
      if (await act(db, sendId, decided)) return `/sends/${id}`;
      const found = await readSend(db, sendId);
      throw found ? new BadAddress(decidedWords(found)) : new BadAddress(`There is no send ${sendId}.`, 404);
    },
  };
}

/** The message of an action, by its name in the address. */
export function doneSentence(name: string | undefined): string | undefined {
  if (name === appliedRules) return 'These rules are in force, for all workers.';
  return name !== undefined && Object.hasOwn(actions, name) ? actions[name]?.done : undefined;
}

/** Serves the actions. Each is logged with who asked for it, and answers 303 to the page that confirms it. */
export function registerActions(app: FastifyInstance, context: Context, pages: Pages, view: View): void {
  const { database, log, settings } = context;

  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || isOwnRequest(request, settings.receiver.publicUrl))
      return;
    log.warn({ ...signInOf(request), origin: request.headers.origin }, 'An action from another site was refused');
    const sentence = 'This came from another site, so nothing was done. Programs send ADMIN_TOKEN as a bearer token.';
    return sendSentence(request, reply.code(403), sentence);
  });

  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxFormBytes },
    (_request, body, parsed) => parsed(null, new URLSearchParams(body)),
  );
  registerRulesEditor(app, context, pages, view);

  for (const [name, { path, act }] of Object.entries(actions)) {
    app.post<{ Params: Asked['params'] }>(path, async (request, reply) => {
      const page = await act({ db: database.db, params: request.params, request });
      log.info({ ...signInOf(request), action: name, page }, 'A page changed something');
      return reply.redirect(`${page}?done=${name}`, 303);
    });
  }
}

/**
 * Whether an admitted request comes from a page of this server, or from a program. A browser also adds the cookie, and
 * the password that was typed once, to requests that other sites make.
 */
function isOwnRequest(request: FastifyRequest, publicUrl: string | undefined): boolean {
  if (isProgram(request)) return true;
  const { headers } = request;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  // Browsers only send that header to https and to this machine.
  const { origin, host } = headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  const own = [host, publicUrl !== undefined && URL.canParse(publicUrl) ? new URL(publicUrl).host : undefined];
  return own.includes(new URL(origin).host);
}
