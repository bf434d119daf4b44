import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { awaySentence, DatabaseUnavailable } from '../checks/checks.ts';
import { isPostgresAway, isUntrusted, isVagueRefusal } from '../db/refusals.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { createBurstCounter } from './bursts.ts';
import { html } from './html.ts';
import { answerPage, link, privately, renderPage } from './page.ts';

/** What the reader did wrong, or what isn't there. The message is one sentence for the reader. */
export class BadAddress extends WrongUse {
  readonly status: 400 | 404 | 409 | 502;

  constructor(sentence: string, status: BadAddress['status'] = 400) {
    super(sentence);
    this.status = status;
  }
}

/** The sentence for an error that is neither the reader's nor the database's. */
const faultSentence = 'This is a fault of Trunkline: the log of this process has the error.';

/** The status of an error and the sentence for its reader. */
export function toldOf(error: unknown): { readonly status: number; readonly sentence: string } {
  if (error instanceof BadAddress) return { status: error.status, sentence: error.message };
  if (error instanceof DatabaseUnavailable) return { status: 503, sentence: error.message };
  if (error instanceof UserError) return { status: 400, sentence: error.message };
  const { code, message, statusCode = 500 } = error as Partial<FastifyError>;
  if (code === '57014') return { status: 503, sentence: 'This takes too long to read: choose fewer days or a filter.' };
  const isAway =
    isPostgresAway(error) || isVagueRefusal(error) || isUntrusted(error) || /^(?:28|3D)/.test(String(code));
  if (isAway || message === 'Query read timeout') return { status: 503, sentence: awaySentence };
  return { status: statusCode, sentence: statusCode < 500 ? String(message) : faultSentence };
}

/**
 * Answers errors of all routes. Each failure of a route that is ours is logged once, because anybody can repeat the
 * request.
 */
export function createErrorHandler(log: Log) {
  const failures = createBurstCounter();
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const told = toldOf(error);
    const { url: path } = request.routeOptions;
    if (told.sentence === faultSentence && failures(`${path} ${(error as Error).message}`) === 1)
      log.error({ err: error, method: request.method, path }, 'A request could not be answered');
    // Keeps the connection open: a sender of too large a body may read the answer only after it has sent everything.
    return sendSentence(request, reply.code(told.status).removeHeader('connection'), told.sentence);
  };
}

/**
 * Answers with one sentence: a page for people, a line beside a CSV, JSON for programs. It says nothing of the account.
 */
export function sendSentence(
  request: FastifyRequest,
  reply: FastifyReply,
  sentence: string,
  toPrograms = sentence,
): FastifyReply {
  reply.headers(privately);
  if (request.routeOptions.url?.endsWith('.csv')) return reply.type('text/plain; charset=utf-8').send(sentence);
  // Browsers ask for HTML explicitly, programs don't.
  if (!request.headers.accept?.includes('text/html'))
    return reply.type('application/json; charset=utf-8').send({ error: toPrograms });
  const page = renderPage({ title: sentence, parts: [html`<p>${link('/', 'Status')}</p>`] });
  return answerPage(reply, page);
}
