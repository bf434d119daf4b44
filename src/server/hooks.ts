import { timingSafeEqual } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Accepted, type Inbox, targetsOf } from '../inbox/deliveries.ts';
import type { Log } from '../shared/log.ts';
import type { Metrics } from '../shared/metrics.ts';
import { extract, withoutOwn } from '../webhooks/extract.ts';
import { maxBodyBytes } from './app.ts';

export interface HookDeps {
  readonly inbox: Inbox;
  readonly isOurLine: (number: string) => boolean;
  /** Accepted tokens: the current one, and the previous one during a rotation. */
  readonly tokens: readonly string[];
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Maximum deliveries that arrive or wait for their commit; further ones get 503. Their bodies take at most 500 MiB
 * (usually 1 MiB), and only senders who know the token can fill that.
 */
const maxInWork = 500;
const retryAfterSeconds = '5';

interface HookRequest {
  Params: { token: string; '*'?: string };
  Body?: Buffer;
}

/**
 * Registers `/hooks/{token}/{type}` in a scope of its own, which accepts any content type. 202 means that the delivery
 * is committed and its targets are marked dirty.
 */
export function registerHooks(scope: FastifyInstance, { inbox, isOurLine, tokens, metrics, log }: HookDeps): void {
  const accepted = tokens.map((token) => Buffer.from(token));
  let open = 0;
  let isFailing = false;

  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Runs before the body is read, so a request without a token costs and reveals nothing.
  scope.addHook<HookRequest>('onRequest', async (request, reply) => {
    if (!isOneOf(accepted, request.params.token)) {
      metrics.deliveryRefused('token');
      return reply.code(404).send({ error: 'not found' });
    }
    // A delivery whose sender is gone waits for its commit, too.
    if (Math.max(open, inbox.waiting) >= maxInWork) return unavailable(reply);
    open += 1;
    reply.raw.once('close', () => {
      open -= 1;
    });
    // Fastify would answer 415 to a malformed content type.
    delete request.headers['content-type'];
  });
  scope.addHook('onError', async (_request, _reply, { statusCode }) => {
    if (statusCode === 413) metrics.deliveryRefused('too_large');
  });

  async function accept(request: FastifyRequest<HookRequest>, reply: FastifyReply): Promise<FastifyReply> {
    const { raw, headers, method, params } = request;
    const at = request.url.indexOf('?');
    const query = at < 0 ? '' : request.url.slice(at + 1);
    // Services and people request the URL to check that it exists; `doctor` posts to see whether deliveries get
    // through.
    if (method === 'HEAD' || (method === 'GET' && query === '') || query === 'probe')
      return reply.send({ ready: true });
    const arrivedAt = performance.now();
    const body = decoded(request.body ?? Buffer.alloc(0), headers['content-encoding']);
    const pathType = params['*']?.split('/', 1)[0] || undefined;
    const facts = extract({ pathType, query, body, ownSecrets: tokens }, isOurLine);
    let stored: Accepted;
    try {
      stored = await inbox.accept({
        eventType: facts.type,
        claimedType: facts.claimedType,
        contentType: short(raw.headersDistinct['content-type']?.[0]?.split(';', 1)[0]),
        userAgent: short(productOf(headers['user-agent'], tokens)),
        body: facts.body,
        unread: facts.unread,
        isTruncated: facts.isTruncated,
        ...targetsOf(facts.references),
      });
    } catch (error) {
      if (!isFailing) log.error({ err: error }, 'Deliveries cannot be stored and are answered 503');
      isFailing = true;
      return unavailable(reply);
    }
    if (isFailing) log.info('Deliveries can be stored again');
    isFailing = false;
    const { id, targets } = stored;
    log.debug({ delivery: id, type: facts.type, targets }, 'A delivery was stored');
    metrics.deliveryAccepted(facts.type ?? 'unknown', targets > 0 && !facts.isTruncated);
    metrics.commitSeconds((performance.now() - arrivedAt) / 1_000);
    return reply.code(202).send({ received: targets, delivery: id });
  }

  function unavailable(reply: FastifyReply): FastifyReply {
    metrics.deliveryRefused('unavailable');
    return reply.code(503).header('retry-after', retryAfterSeconds).send({ error: 'try again later' });
  }

  for (const url of ['/hooks/:token', '/hooks/:token/*']) {
    scope.route<HookRequest>({ method: ['GET', 'HEAD', 'POST', 'PUT'], url, handler: accept });
  }
}

/**
 * Removes the path of PUBLIC_URL, which a proxy may leave in place, but only from addresses of hooks, so no page is
 * reachable below it.
 */
export function routingBelow(publicUrl: string | undefined): (url: string) => string {
  const below = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '');
  return (url) => (url.startsWith(`${below}/hooks/`) ? url.slice(below.length) : url);
}

function isOneOf(tokens: readonly Buffer[], given: string): boolean {
  const bytes = Buffer.from(given);
  return tokens.some((token) => token.length === bytes.length && timingSafeEqual(token, bytes));
}

/**
 * Decompresses a gzip body. Returns a broken one unchanged, so that it can be stored. Throws an error with status 413
 * for one that is too large. Synchronous on purpose: only one decompressed body at a time takes memory.
 */
function decoded(body: Buffer, encoding: string | undefined): Buffer {
  try {
    return encoding?.toLowerCase() === 'gzip' ? gunzipSync(body, { maxOutputLength: maxBodyBytes }) : body;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    return body;
  }
}

/** The product and its version in a User-Agent header: the rest can contain anything, even an address with a token. */
function productOf(header: string | undefined, tokens: readonly string[]): string | undefined {
  return header && withoutOwn(/^[\w.-]{1,100}(?:\/[\w.+-]{1,60})?/.exec(header)?.[0] ?? '', tokens);
}

/** A header as stored for readers. */
function short(header: string | undefined): string | undefined {
  return header?.replace(/[^\x20-\x7e]/g, '').slice(0, 200) || undefined;
}
