import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type DeliveryFacts, extract } from '../events/extract.ts';
import type { Inbox } from '../inbox/deliveries.ts';
import { pointedAt } from '../inbox/hints.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { type BodyBudget, type BodyShare, readBody } from './bodies.ts';
import { openBody } from './encodings.ts';

export interface HookParts {
  readonly inbox: Inbox;
  readonly isOurLine: (number: string) => boolean;
  /** Accepted tokens: the current one, and the previous one while it is rotated. */
  readonly tokens: readonly string[];
  readonly bodies: BodyBudget;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** One MiB, of the body as it is sent and as it opens; a larger one is answered 413. */
export const largestBody = 1_048_576;

/** So many deliveries may wait for their commit before further ones are sent away to come back later. */
const mostWaiting = 20_000;
const retryAfterSeconds = '5';

const emptyBody = { outcome: 'read', body: Buffer.alloc(0) } as const;

interface HookRequest {
  Params: { token: string; '*'?: string };
}

/**
 * The addresses that the service delivers to: `/hooks/{token}/{type}`, any content type and encoding.
 * 202 is a promise: the delivery and what it points at are committed.
 */
export function registerHooks(app: FastifyInstance, parts: HookParts): void {
  const tokens = parts.tokens.map((token) => Buffer.from(token));
  const sentAs = new WeakMap<object, string | undefined>();
  let isFailing = false;

  app.addHook<HookRequest>('onRequest', (request, reply, done) => {
    // Before anything is read or judged of it: a stranger learns nothing, and costs nothing.
    if (!isToken(tokens, request.params.token)) {
      parts.metrics.deliveryRefused('token');
      reply.code(404).send({ error: 'not found' });
      return;
    }
    // A malformed content type would be answered 415 before any handler; a delivery is taken whatever it calls itself.
    sentAs.set(request.raw, request.headers['content-type']);
    if (request.headers['content-type'] !== undefined) request.headers['content-type'] = 'application/octet-stream';
    done();
  });

  async function accept(request: FastifyRequest<HookRequest>, reply: FastifyReply): Promise<FastifyReply> {
    const at = request.url.indexOf('?');
    const query = at < 0 ? '' : request.url.slice(at + 1);
    // Services and people open an address to see whether it is there.
    if (request.method === 'HEAD' || (request.method === 'GET' && query === ''))
      return reply.code(200).send({ ready: true });
    if (parts.inbox.waiting > mostWaiting) return unavailable(reply);
    using share = parts.bodies.share();
    const received = await receive(request, reply, { query, share });
    if (received === undefined) return reply;
    const { facts, arrivedAt } = received;
    let found: number;
    try {
      found = await parts.inbox.accept({
        eventType: facts.type,
        claimedType: facts.claimedType,
        contentType: short(sentAs.get(request.raw)),
        userAgent: short(request.headers['user-agent']),
        body: facts.body,
        fingerprint: facts.fingerprint,
        isCut: facts.isCut,
        ...pointedAt(facts.hints),
      });
    } catch (error) {
      if (!isFailing)
        parts.log.error({ err: error }, 'Deliveries cannot be stored; they are answered 503 until they can');
      isFailing = true;
      return unavailable(reply);
    }
    if (isFailing) parts.log.info('Deliveries are stored again');
    isFailing = false;
    parts.metrics.deliveryAccepted(facts.type ?? 'unknown', found > 0 && !facts.isCut);
    parts.metrics.commitSeconds((performance.now() - arrivedAt) / 1_000);
    return reply.code(202).send({ received: found });
  }

  /** Reads a delivery; undefined when it was refused. Its bytes are no longer referred to when this returns. */
  async function receive(
    request: FastifyRequest<HookRequest>,
    reply: FastifyReply,
    { query, share }: { query: string; share: BodyShare },
  ): Promise<{ facts: DeliveryFacts; arrivedAt: number } | undefined> {
    const read =
      request.method === 'GET' ? emptyBody : await readBody(request.raw, reply.raw, { share, maxBytes: largestBody });
    if (read.outcome !== 'read') {
      if (read.outcome === 'too_large') tooLarge(reply);
      else if (read.outcome === 'no_room') unavailable(reply);
      else reply.code(400).send({ error: 'the body did not arrive' });
      return undefined;
    }
    const arrivedAt = performance.now();
    const opened = openBody(read.body, request.headers['content-encoding'], largestBody);
    if (opened.outcome === 'too_large') {
      tooLarge(reply);
      return undefined;
    }
    const pathType = request.params['*']?.split('/', 1)[0] || undefined;
    const contentType = sentAs.get(request.raw);
    const facts = extract({ pathType, contentType, query, body: opened.body }, parts.isOurLine);
    // A compressed body opens to a thousand times of what it cost to send.
    if (!share.resize(facts.body.length)) {
      unavailable(reply);
      return undefined;
    }
    return { facts, arrivedAt };
  }

  function tooLarge(reply: FastifyReply): FastifyReply {
    parts.metrics.deliveryRefused('too_large');
    return reply.code(413).send({ error: 'the body is too large' });
  }

  function unavailable(reply: FastifyReply): FastifyReply {
    parts.metrics.deliveryRefused('unavailable');
    return reply.code(503).header('retry-after', retryAfterSeconds).send({ error: 'try again later' });
  }

  for (const url of ['/hooks/:token', '/hooks/:token/*']) {
    app.route<HookRequest>({ method: ['GET', 'HEAD', 'POST', 'PUT'], url, handler: accept });
  }
}

/** What the service and its users are sent to below PUBLIC_URL. */
const publicPath = /^\/(?:hooks\/|oauth\/callback(?:\?|$))/;

/**
 * Makes the address of a request the one that the routes know: below the path of PUBLIC_URL, which a proxy may leave in
 * place, and without what some services append to an address that was registered, which may not even be well-formed. An
 * escape that nobody can decode stands for itself. Only hooks and the OAuth callback are found below that path: a proxy
 * that passes it on, be it `/hooks`, opens no page with it.
 */
export function routingBelow(publicUrl: string | undefined): (url: string) => string {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '');
  const isBelow = (url: string) => url.startsWith(`${prefix}/`) && publicPath.test(url.slice(prefix.length));
  return (url) =>
    (isBelow(url) ? url.slice(prefix.length) : url).replace(
      /^\/hooks\/([^/?]*)(?:\/([^/?]*)[^?]*)?/,
      (_path, token: string, type?: string) =>
        `/hooks/${decodable(token)}${type === undefined ? '' : `/${decodable(type)}`}`,
    );
}

function decodable(segment: string): string {
  try {
    decodeURIComponent(segment);
    return segment;
  } catch {
    return segment.replaceAll('%', '%25');
  }
}

function isToken(tokens: readonly Buffer[], given: string): boolean {
  const bytes = Buffer.from(given);
  return tokens.some((token) => token.length === bytes.length && timingSafeEqual(token, bytes));
}

/** Headers are kept for reading only; control characters and endless ones are not worth keeping. */
function short(header: string | undefined): string | undefined {
  return header?.replace(/[^\x20-\x7e]/g, '').slice(0, 200) || undefined;
}
