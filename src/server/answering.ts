import { createHash } from 'node:crypto';
import type { FastifyHelmetOptions } from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database, Transaction } from '../db/database.ts';
import { isPostgresAway, isUntrusted, isVagueRefusal } from '../db/refusals.ts';
import { DatabaseUnavailable, readWithTimeout } from '../ops/snapshot.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';

/** What is said of an error that is neither the reader's nor the database's. */
export const faultSentence = 'This is a fault of Trunkline: the log of this process has the error.';

/** Not found, or too large to show. The message is one sentence for the reader. */
export class BadAddress extends UserError {
  readonly status: 400 | 404 | 409 | 500;

  constructor(sentence: string, status: BadAddress['status'] = 400) {
    super(sentence);
    this.status = status;
  }
}

/** The parameters of an address. */
export type Parameters = Readonly<Record<string, unknown>>;

const maxLength = 250;

/** A parameter; undefined if it is empty. Throws `BadAddress`. */
export function textOf(query: Parameters, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new BadAddress(`${name} stands twice in the address.`);
  if (value.length > maxLength) throw new BadAddress(`${name} is too long.`);
  return value.trim();
}

/** Whether a text is a valid calendar day, `2026-11-01`. */
export function isDay(value: string | undefined): value is string {
  if (!value || !/^(19|20)\d\d-\d\d-\d\d$/.test(value)) return false;
  const moment = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(+moment) && moment.toISOString().startsWith(value);
}

/** Rejects with an error whose message is for the reader: for one that is not, after it was logged, with `faultSentence`. */
export function rejectTold(error: unknown, log: Log): never {
  if (error instanceof BadAddress || error instanceof DatabaseUnavailable) throw error;
  log.error({ err: error }, 'A request could not be answered');
  throw new BadAddress(faultSentence, 500);
}

/** Answers with a sentence if the address is wrong (400, 404) or Postgres is unreachable (503). Rejects with any other error. */
export async function answering<T>(
  reply: FastifyReply,
  say: (sentence: string) => T,
  answer: () => Promise<T>,
): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof BadAddress || error instanceof DatabaseUnavailable)) throw error;
    reply.code(error instanceof BadAddress ? error.status : 503);
    return say(error.message);
  }
}

/** The types of a request. */
interface Route {
  Querystring: Parameters;
  Params: Readonly<Record<string, string>>;
}

/** Serves a page; or, if reading fails, the page that `renderOutage` makes of a sentence. */
export function servePage(
  app: FastifyInstance,
  path: string,
  renderOutage: (sentence: string) => string,
  render: (request: FastifyRequest<Route>) => Promise<string>,
): void {
  app.get<Route>(path, async (request, reply) => {
    reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
    return answering(reply, renderOutage, () => render(request));
  });
}

/** Serves a file with the extension `.csv`; or, if reading fails, a sentence. */
export function serveCsv(
  app: FastifyInstance,
  path: string,
  read: (request: FastifyRequest<Route>) => Promise<{ readonly name: string; readonly csv: string }>,
): void {
  app.get<Route>(path, async (request, reply) => {
    reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
    return answering(reply, String, async () => {
      const { name, csv } = await read(request);
      reply.type('text/csv; charset=utf-8; header=present');
      reply.header('content-disposition', `attachment; filename="${name}.csv"`);
      // Without a byte order mark, Excel assumes another encoding.
      return `\ufeff${csv}`;
    });
  });
}

/** Runs reads one after the other, so pages never use more than one of the connections that deliveries need. */
export function oneAtATime(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run, run);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Whether the database could not be used, whatever was asked of it. */
function isOutage(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (isPostgresAway(error) || isVagueRefusal(error) || isUntrusted(error)) return true;
  return /^(?:28|3D)/.test(String(code)) || message === 'Query read timeout';
}

/** Runs `work` with one connection. Rejects with `DatabaseUnavailable` if there is none. */
export async function onConnection<T>(db: Database, work: (connection: Database) => Promise<T>): Promise<T> {
  try {
    return await db.connection().execute(work);
  } catch (cause) {
    if (!isOutage(cause)) throw cause;
    throw new DatabaseUnavailable('Postgres does not answer: see that it runs and that DATABASE_URL is right.', {
      cause,
    });
  }
}

/** Reads with a time limit for each statement. If one takes too long, the reader should choose a shorter range. */
export function limited<T>(db: Database, read: (tx: Transaction) => Promise<T>): Promise<T> {
  return readable(() => readWithTimeout(db, read), 'This takes too long to read: choose fewer days.');
}

/** Runs reads. Rejects with `BadAddress` and `tooLong` if a statement reached its time limit. */
export async function readable<T>(read: () => Promise<T>, tooLong: string): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isTimeout = error instanceof Error && 'code' in error && error.code === '57014';
    throw isTimeout ? new BadAddress(tooLong) : error;
  }
}

/** Where a page's script comes from: inline in the page, or files of this server. */
type Scripts = { readonly inline: string } | 'files';

/**
 * Headers of a page. It can only run its own style and script, identified by their hashes, and no other page can frame
 * it. Its forms must send an Origin, which the default referrer policy would suppress: actions without one are refused.
 */
export function pageHeaders(style: string, scripts: Scripts): FastifyHelmetOptions {
  const own = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const scriptSrc = scripts === 'files' ? "'self'" : own(scripts.inline);
  return {
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'same-origin' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: [scriptSrc],
        styleSrc: [own(style)],
        imgSrc: ['data:'],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
  };
}
