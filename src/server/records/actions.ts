import type { FastifyInstance, FastifyRequest } from 'fastify';
import { actions, pathOf } from '../../actions/actions.ts';
import type { Context } from '../../context.ts';
import { UserError, WrongUse } from '../../shared/errors.ts';
import { type Parameters, textOf } from '../address.ts';
import { isProgram, signInOf } from '../auth.ts';
import { BadAddress, sendSentence } from '../errors.ts';
import type { Pages } from '../table.ts';
import { fieldOf, maxFormBytes, whoDecides } from './forms.ts';
import { appliedRules, registerRulesEditor } from './rules-edit.ts';
import type { View } from './view.ts';

/** What an action that led to an address has done. */
export function doneSentence(query: Parameters): string | undefined {
  const path = textOf(query, 'done');
  return path === appliedRules ? 'These rules are in force, for all workers.' : actionAt(path)?.done;
}

const actionAt = (path: string | undefined) => actions.find(({ name }) => pathOf(name) === path);

/** Serves the actions. Each is logged with who asked for it, and answers 303 to the page that shows what came of it. */
export function registerActions(app: FastifyInstance, context: Context, pages: Pages, view: View): void {
  const { database, notifier, service, log, settings } = context;
  const deps = { db: database.db, notify: notifier.notify, service, log, settings };

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

  app.post<{ Params: { '*': string }; Querystring: Parameters }>('/do/*', async (request, reply) => {
    const action = actionAt(request.params['*']);
    if (!action) throw new BadAddress('There is no such action.', 404);
    const given = Object.keys(action.args.shape).map((name) => [
      name,
      fieldOf(request, name) || textOf(request.query, name),
    ]);
    const parsed = action.args.safeParse(Object.fromEntries(given));
    if (!parsed.success) throw new BadAddress(parsed.error.issues.map(({ message }) => message).join(' '));
    const by = action.isSigned ? whoDecides(request) : '';
    await action.run(deps, parsed.data, by).catch((error: unknown) => {
      throw error instanceof UserError && !(error instanceof WrongUse) ? new BadAddress(error.message, 409) : error;
    });
    const page = action.page(parsed.data);
    log.info({ ...signInOf(request), action: action.name, page }, 'A page changed something');
    return reply.redirect(`${page}?done=${pathOf(action.name)}`, 303);
  });
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
