import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Accepted, type Inbox, targetsOf } from '../inbox/deliveries.ts';
import type { Log } from '../shared/log.ts';
import type { Metrics } from '../shared/metrics.ts';
import { type DeliveryFacts, extract, withoutOwn } from '../webhooks/extract.ts';
import { type BodyBudget, type BodyShare, decodeBody, readBody } from './read-body.ts';

export interface HookDeps {
  readonly inbox: Inbox;
  readonly isOurLine: (number: string) => boolean;
  /** Accepted tokens: the current one, and the previous one during a rotation. */
  readonly tokens: readonly string[];
  readonly bodies: BodyBudget;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** One MiB, for the body both as sent and as decoded. A larger body gets 413. */
export const largestBody = 1_048_576;

/** Maximum deliveries that wait for their commit. Further ones get 503. */
const maxWaiting = 20_000;
const retryAfterSeconds = '5';

const emptyBody = { outcome: 'read', body: Buffer.alloc(0) } as const;

interface HookRequest {
  Params: { token: string; '*'?: string };
}

/**
 * Registers `/hooks/{token}/{type}`, which accepts any content type. 202 means that the delivery is committed and its
 * targets are marked dirty.
 */
export function registerHooks(app: FastifyInstance, deps: HookDeps): void {
  const tokens = deps.tokens.map((token) => Buffer.from(token));
  const sentAs = new WeakMap<object, string | undefined>();
  let isFailing = false;

  app.addHook<HookRequest>('onRequest', (request, reply, done) => {
    // Checked first, so a request without a token costs and reveals nothing.
    const { token } = request.params;
    if (!isToken(tokens, token)) {
      deps.metrics.deliveryRefused('token');
      reply.code(404).send({ error: 'not found' });
      return;
    }
    // Without this, Fastify would answer 415 to a malformed content type before any handler runs.
    sentAs.set(request.raw, request.headers['content-type']);
    if (request.headers['content-type'] !== undefined) request.headers['content-type'] = 'application/octet-stream';
    done();
  });

  async function accept(request: FastifyRequest<HookRequest>, reply: FastifyReply): Promise<FastifyReply> {
    const at = request.url.indexOf('?');
    const query = at < 0 ? '' : request.url.slice(at + 1);
    // Services and people request the URL to check that it exists; `doctor` posts to see whether deliveries get through.
    if (request.method === 'HEAD' || (request.method === 'GET' && query === '') || query === 'probe')
      return reply.code(200).send({ ready: true });
    if (deps.inbox.waiting > maxWaiting) return unavailable(reply);
    using share = deps.bodies.share();
    const received = await receive(request, reply, { query, share });
    if (received === undefined) return reply;
    const { facts, arrivedAt } = received;
    let accepted: Accepted;
    try {
      const delivery = {
        eventType: facts.type,
        claimedType: facts.claimedType,
        contentType: short(sentAs.get(request.raw)?.split(';', 1)[0]),
        userAgent: short(productOf(request.headers['user-agent'], deps.tokens)),
        body: facts.body,
        unread: facts.unread,
        isTruncated: facts.isTruncated,
        ...targetsOf(facts.references),
      };
      accepted = await deps.inbox.accept(delivery);
    } catch (error) {
      if (!isFailing) deps.log.error({ err: error }, 'Deliveries cannot be stored and are answered 503');
      isFailing = true;
      return unavailable(reply);
    }
    if (isFailing) deps.log.info('Deliveries can be stored again');
    isFailing = false;
    const { id, targets } = accepted;
    deps.log.debug({ delivery: id, type: facts.type, targets }, 'A delivery was stored');
    deps.metrics.deliveryAccepted(facts.type ?? 'unknown', targets > 0 && !facts.isTruncated);
    deps.metrics.commitSeconds((performance.now() - arrivedAt) / 1_000);
    return reply.code(202).send({ received: targets, delivery: id });
  }

  /** Reads a delivery. Undefined if it was refused. Doesn't keep a reference to the raw bytes. */
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
    const body = decodeBody(read.body, request.headers['content-encoding'], largestBody);
    if (body === undefined) {
      tooLarge(reply);
      return undefined;
    }
    const pathType = request.params['*']?.split('/', 1)[0] || undefined;
    const facts = extract({ pathType, query, body, ownSecrets: deps.tokens }, deps.isOurLine);
    // A compressed body can decompress to a thousand times its size.
    if (!share.resize(facts.body.length + (facts.unread?.length ?? 0))) {
      unavailable(reply);
      return undefined;
    }
    return { facts, arrivedAt };
  }

  function tooLarge(reply: FastifyReply): FastifyReply {
    deps.metrics.deliveryRefused('too_large');
    return reply.code(413).send({ error: 'the body is too large' });
  }

  function unavailable(reply: FastifyReply): FastifyReply {
    deps.metrics.deliveryRefused('unavailable');
    return reply.code(503).header('retry-after', retryAfterSeconds).send({ error: 'try again later' });
  }

  for (const url of ['/hooks/:token', '/hooks/:token/*']) {
    app.route<HookRequest>({ method: ['GET', 'HEAD', 'POST', 'PUT'], url, handler: accept });
  }
}

/**
 * Rewrites request URLs to routes. Removes the path of PUBLIC_URL, which a proxy may leave in place, but only for hooks,
 * so no page is reachable below it. Removes what the service appends to a registered URL. Invalid percent-escapes are
 * taken literally.
 */
export function routingBelow(publicUrl: string | undefined): (url: string) => string {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '');
  return (url) =>
    (url.startsWith(`${prefix}/hooks/`) ? url.slice(prefix.length) : url).replace(
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

/** The product and its version in a User-Agent header: the rest can contain anything, even an address with a token. */
function productOf(header: string | undefined, tokens: readonly string[]): string | undefined {
  return header && withoutOwn(/^[\w.-]{1,100}(?:\/[\w.+-]{1,60})?/.exec(header)?.[0] ?? '', tokens);
}

/** A header as stored for readers. */
function short(header: string | undefined): string | undefined {
  return header?.replace(/[^\x20-\x7e]/g, '').slice(0, 200) || undefined;
}
