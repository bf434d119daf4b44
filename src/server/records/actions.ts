import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { type InboxDeps, replayDelivery } from '../../inbox/stored-deliveries.ts';
import { approveSend } from '../../ledger/approvals.ts';
import { pauseSends, resumeSends } from '../../ledger/control.ts';
import { decideOptOut } from '../../ledger/opt-outs.ts';
import { settleManually } from '../../ledger/outcome.ts';
import { cancelSend, rejectSend } from '../../ledger/plans.ts';
import { readSend } from '../../ledger/send.ts';
import { decidedWords } from '../../ops/format.ts';
import { readTargetStates } from '../../ops/target-states.ts';
import { retryTelling } from '../../rules/actions/tell.ts';
import { rollbackRules } from '../../rules/versions.ts';
import { UserError } from '../../shared/errors.ts';
import { maskKey } from '../../shared/masking.ts';
import { readAgain } from '../../sync/read-again.ts';
import { idOf } from '../address.ts';
import { isProgram, signInOf } from '../auth.ts';
import { BadAddress, sendSentence } from '../errors.ts';
import { targetOf } from './deliveries.ts';
import { registerRulesEditor } from './rules-edit.ts';
import { changeOf, maxFormBytes } from './rules-forms.ts';
import { versionOf } from './rules-version.ts';
import { sendIdOf } from './send.ts';
import { targetPath, type View } from './view.ts';

type Params = Readonly<Record<string, string>>;

interface ActionDeps extends InboxDeps {}

/** A change that a page can make, by a POST. It does the same as the command. */
interface Action {
  readonly path: string;
  /** The message on the page afterwards. */
  readonly done: string;
  /** Returns the page to redirect to. `by` is the person who asked. Throws `BadAddress`. */
  readonly act: (deps: ActionDeps, params: Params, by: string, request: FastifyRequest) => Promise<string>;
}

/** By the name that appears in the page's address afterwards. */
const actions: Readonly<Record<string, Action>> = {
  replay: {
    path: '/deliveries/:id/replay',
    done: 'What it points at will be read again. The new reads show below within seconds.',
    async act(inbox, { id }) {
      if (!(await replayDelivery(inbox, idOf(id)))) throw new BadAddress(`There is no delivery ${id}.`, 404);
      return `/deliveries/${id}`;
    },
  },
  retry: {
    path: '/targets/:kind/*',
    done: 'It is read now. The state below changes within seconds.',
    async act(inbox, params) {
      const target = targetOf(params.kind, params['*']);
      const [known] = await readTargetStates(inbox.db, [target]);
      if (!known) throw new BadAddress('Nothing made this pending so far.', 404);
      await readAgain(inbox, target);
      return targetPath(`${target.kind} ${target.key}`);
    },
  },
  'retry-steps': {
    path: '/rules/runs/:id/retry',
    done: 'It is sent again. The steps below change within seconds.',
    async act({ db }, { id }) {
      const runId = idOf(id);
      if ((await retryTelling(db, { runIds: [runId] })) > 0) return `/rules/runs/${runId}`;
      throw new BadAddress('Nothing of this run can be sent again: nothing failed, or it is under way.');
    },
  },
  sent: settlement('sent', 'Settled as sent: what was reserved counts as spent. Nothing was sent again.'),
  'not-sent': settlement('not-sent', 'Settled as not sent: what was reserved is free again. Nothing was sent again.'),
  cancel: {
    path: '/sends/:id/cancel',
    done: 'Cancelled: it will never be sent.',
    async act({ db }, { id }, by) {
      if (await cancelSend(db, sendIdOf(id), { by })) return `/sends/${id}`;
      throw new BadAddress('Only a send that waits can be cancelled: a request of this one has left, or it has ended.');
    },
  },
  approve: {
    path: '/sends/:id/approve/:seen',
    done: 'Approved. It leaves within seconds if every gate still lets it pass; the state below says what came of it.',
    async act({ db }, { id, seen = '' }, by) {
      const sendId = sendIdOf(id);
      const result = await approveSend(db, sendId, { by, seen });
      if (result === 'changed') {
        throw new BadAddress('The text was changed, or they wrote again, meanwhile. Open the page again, and read it.');
      }
      return result === 'done' ? `/sends/${id}` : refuseDecided(db, sendId);
    },
  },
  reject: {
    path: '/sends/:id/reject',
    done: 'Rejected: it will never be sent.',
    async act({ db }, { id }, by) {
      const sendId = sendIdOf(id);
      return (await rejectSend(db, sendId, { by })) ? `/sends/${id}` : refuseDecided(db, sendId);
    },
  },
  pause: {
    path: '/sends/pause',
    done: 'All sends are paused. Requests that were under way finish.',
    act: ({ db }) => pauseSends(db, 'by the operator, on the page of sends').then(() => '/sends'),
  },
  resume: {
    path: '/sends/resume',
    done: 'Sends are resumed, as far as RULES_MODE allows.',
    act: ({ db }) => resumeSends(db).then(() => '/sends'),
  },
  'opt-out-confirm': decision('confirm', 'Recorded as opted out: no automatic text goes to the number, from any line.'),
  'opt-out-clear': decision('clear', 'Recorded as no opt-out: rules may answer the next text.'),
  'rules-rollback': {
    path: '/rules/history/:id/roll-back',
    done: 'The earlier text is in force again, for all workers, as a new version.',
    act: ({ db }, { id }, _by, request) =>
      changingRules(async () => {
        await rollbackRules(db, { ...changeOf(request), to: versionOf(id) });
      }),
  },
};

/** Somebody has decided about a send before, or it does not wait any more. */
async function refuseDecided(db: Database, sendId: string): Promise<never> {
  const found = await readSend(db, sendId);
  throw found ? new BadAddress(decidedWords(found)) : new BadAddress(`There is no send ${sendId}.`, 404);
}

/** Returns the page of rules after a change of them. */
async function changingRules(change: () => Promise<void>): Promise<string> {
  try {
    await change();
  } catch (error) {
    // Among them a text that this release does not understand.
    if (error instanceof UserError && !(error instanceof BadAddress)) throw new BadAddress(error.message, 409);
    throw error;
  }
  return '/rules';
}

function settlement(word: 'sent' | 'not-sent', done: string): Action {
  return {
    path: `/sends/:id/settle/${word}`,
    done,
    async act({ db }, { id }) {
      if (await settleManually(db, sendIdOf(id), word === 'sent' ? 'SENT' : 'NOT_SENT')) return `/sends/${id}`;
      throw new BadAddress('Only a send in manual review can be settled: this one is not, or was settled meanwhile.');
    },
  };
}

function decision(word: 'confirm' | 'clear', done: string): Action {
  return {
    path: `/opt-outs/:number/${word}/:seen`,
    done,
    async act({ db }, { number = '', seen = '' }, by) {
      if (!/^\d{3,15}$/.test(number) || !/^\d{1,15}$/.test(seen)) throw new BadAddress('There is no such number.', 404);
      const result = await decideOptOut(db, number, word, { by, seenAt: new Date(Number(seen)) });
      if (result === 'newer_text') throw new BadAddress('They wrote again meanwhile. Reload the page, and read it.');
      if (result === 'not_waiting') throw new BadAddress('Somebody decided meanwhile, or they wrote START.');
      return '/sends';
    },
  };
}

/** The name of the change that the editor of rules makes. */
const appliedRules = 'rules-apply';

/** The message of an action, by its name in the address. */
export function doneSentence(name: string | undefined): string | undefined {
  if (name === appliedRules) return 'These rules are in force, for all workers.';
  return name !== undefined && Object.hasOwn(actions, name) ? actions[name]?.done : undefined;
}

/** Serves the actions. Each is logged with who asked for it, and answers 303 to the page that confirms it. */
export function registerActions(app: FastifyInstance, context: Context, view: View): void {
  const { database, pauses, notifier, log, settings } = context;
  const deps: ActionDeps = { db: database.db, pauses, notify: notifier.notify };
  const { publicUrl } = settings.receiver;

  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || isOwnRequest(request, publicUrl)) return;
    log.warn({ ...signInOf(request), origin: request.headers.origin }, 'An action from another site was refused');
    return sendSentence(
      request,
      reply.code(403),
      'This came from another site, so nothing was done. Programs send ADMIN_TOKEN as a bearer token.',
    );
  });

  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxFormBytes },
    (_request, body, parsed) => parsed(null, new URLSearchParams(body)),
  );
  registerRulesEditor(app, context, view, appliedRules);

  for (const [name, { path, act }] of Object.entries(actions)) {
    app.post<{ Params: Params }>(path, async (request, reply) => {
      const page = await act(deps, request.params, whoOf(request), request);
      const subject = page.startsWith('/targets/thread/') ? maskKey('thread', page) : page;
      log.info({ ...signInOf(request), action: name, page: subject }, 'A page changed something');
      return reply.redirect(`${page}?done=${name}`, 303);
    });
  }
}

/** Who asked, as stored in a record. */
function whoOf(request: FastifyRequest): string {
  const { signIn, user, address } = signInOf(request);
  return `page of sends, ${user ?? signIn} from ${address}`;
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
