import type { FastifyInstance } from 'fastify';
import { type Database, query, sql } from '../../db/database.ts';
import { openAgent } from '../../shared/proxy.ts';
import { belongingOf, type LinkKind } from '../../warehouse/links.ts';
import { BadAddress } from '../errors.ts';
import type { View } from './view.ts';

/** A recording, or a file of a text, with its sealed link. */
interface Medium {
  readonly kind: LinkKind;
  /** The id of the call, or `conversation/message`. */
  readonly owner: string;
  /** The recorded leg, or the position of the file in the text, from 1. */
  readonly part: string;
  readonly link: string | null | undefined;
}

/**
 * Where this server plays a medium, or why it doesn't. The link itself stays here: it never expires, and whoever has it
 * can open it.
 */
export function openMedium(
  { areWordsShown, sealer }: View,
  medium: Medium,
): { url: URL; path: string } | { why: string } {
  const { kind, owner, part, link } = medium;
  if (!areWordsShown) return { why: 'Hidden by PAGES_WORDS.' };
  if (!link) return { why: 'No link to it is stored.' };
  const opened = sealer?.open(link, belongingOf(kind, medium));
  if (opened === undefined) {
    const key = 'ENCRYPTION_KEY (or API_KEY, where the workers have none)';
    return { why: `To open it here, set ${key} to the value of the workers.` };
  }
  const url = URL.parse(opened);
  if (!url || !/^https?:$/.test(url.protocol)) return { why: 'Its link is no web address.' };
  const folder = kind === 'file' ? `/threads/files/${owner.replace('/', '-')}` : `/calls/${owner}/recordings`;
  return { url, path: `${folder}/${encodeURIComponent(part)}` };
}

/** Serves recordings and files of texts. Other content than pictures, audio, video and PDF is for storing only. */
export function registerMedia(app: FastifyInstance, db: Database, view: View): void {
  const serve = (path: string, kind: LinkKind) =>
    app.get<{ Params: { owner: string; part: string } }>(path, { exposeHeadRoute: false }, async (request, reply) => {
      const { part } = request.params;
      const owner = request.params.owner.replace('-', '/');
      const held = sql<{
        link: string;
      }>`select link from secrets.links where kind = ${kind} and owner = ${owner} and part = ${part}`;
      const medium = openMedium(view, { kind, owner, part, link: (await query(db, held))[0]?.link });
      if ('why' in medium) throw new BadAddress(`This can’t be opened. ${medium.why}`, 404);
      const { status, type, headers, body } = await ask(medium.url, request.headers.range);
      const isShown = /^(audio|video)\/|^image\/(?!svg)|^application\/pdf/i.test(type);
      const name = medium.url.pathname.replace(/^.*\//, '').replace(/[^\w.-]+/g, '_');
      if (!isShown) reply.header('content-disposition', `attachment; filename="${name}"`);
      reply
        .code(status)
        .headers(headers)
        .type(isShown ? type : 'application/octet-stream');
      return reply.send(body);
    });
  serve('/calls/:owner/recordings/:part', 'recording');
  serve('/threads/files/:owner/:part', 'file');
}

/** Milliseconds for a connection, until the answer begins, and between two pieces of it. */
const [connectMs, headersMs, pieceMs] = [5_000, 15_000, 30_000];

/** Asks for a medium, or a range of it. Throws `BadAddress` if the service doesn't give it out. */
async function ask(url: URL, range: string | undefined) {
  // It takes a tenth of a second to load.
  const { interceptors, request } = await import('undici');
  const limits = { connect: { timeout: connectMs }, headersTimeout: headersMs, bodyTimeout: pieceMs };
  const agent = await openAgent(url.href, limits);
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 3 }));
  const asked = { dispatcher, headers: { 'accept-encoding': 'identity', ...(range !== undefined && { range }) } };
  const {
    statusCode: status,
    headers,
    body,
  } = await request(url, asked).catch((cause: Error) => {
    void agent.destroy();
    throw new BadAddress(`This can’t be opened now: the service does not answer (${cause.message}).`, 502);
  });
  // An answer that breaks off ends the reply, which is all that is to be done.
  body.on('error', () => undefined).once('close', () => void agent.destroy());
  if (![200, 206, 416].includes(status)) {
    body.destroy();
    throw new BadAddress(`The link no longer works: the service answered ${status} to it.`, 502);
  }
  const passed = ['content-length', 'content-range', 'accept-ranges'].filter((name) => headers[name] !== undefined);
  return {
    status,
    type: String(headers['content-type'] ?? ''),
    headers: Object.fromEntries(passed.map((name) => [name, headers[name]])),
    body,
  };
}
