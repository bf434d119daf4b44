import { timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import basicAuth from '@fastify/basic-auth';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createSpells } from '../bounded.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';

export interface GuardParts {
  /** Without one, only this machine may open the pages; the settings demand one elsewhere. */
  readonly adminToken: string | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Each wrong token of an address makes the next refusal slower by this, up to the most; in milliseconds. */
const delayStepMs = 50;
const maxDelayMs = 1_000;
/** Refusals that are delayed hold connections. Further ones are answered 429 at once. */
const maxDelayed = 50;

/** Guessing counts as over after so many milliseconds. */
const quietMs = 60_000;
const maxAddresses = 1_000;

/**
 * Lets only `ADMIN_TOKEN` pass to the routes of this scope: as bearer token, or as the password that a browser asks for.
 * Wrong tokens are refused ever more slowly; the right one passes at once, whoever else guesses. Without a token only
 * requests that name this machine by a loopback host pass. No answer of the scope may be stored.
 */
export function guardPages(app: FastifyInstance, { adminToken, metrics, log }: GuardParts): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  if (adminToken === undefined) admitThisMachine(app, metrics);
  else askForToken(app, { adminToken, metrics, log });
}

function askForToken(app: FastifyInstance, { adminToken, metrics, log }: GuardParts & { adminToken: string }): void {
  const expected = Buffer.from(adminToken);
  const isExpected = (given: string) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
  const guesses = createSpells({ quietMs, maxKeys: maxAddresses });
  let delayed = 0;

  /** Counts a wrong token, and waits before it is refused. False where too many wait already. */
  async function holdBack(address: string): Promise<boolean> {
    metrics.requestRefused('admin_token');
    const wrong = guesses.hit(networkOf(address));
    if (wrong === 1)
      log.warn({ address }, 'A wrong ADMIN_TOKEN was given; further ones of this address are only counted');
    if (delayed >= maxDelayed) return false;
    delayed += 1;
    await delay(Math.min(wrong * delayStepMs, maxDelayMs));
    delayed -= 1;
    return true;
  }

  app.register(basicAuth, {
    validate: async (_user: string, password: string) => {
      if (!isExpected(password)) throw Object.assign(new Error('unauthorized'), { statusCode: 401 });
    },
    authenticate: { realm: 'Trunkline' },
  });
  app.addHook('onRequest', async (request, reply) => {
    if (isExpected(bearerOf(request))) return;
    const refusal = await basicRefusal(request, reply);
    if (refusal === undefined) return;
    const isGuess = request.headers.authorization !== undefined;
    if (isGuess && !(await holdBack(request.ip))) {
      return reply.code(429).header('retry-after', '1').send({ error: 'too many wrong tokens' });
    }
    throw refusal;
  });

  function basicRefusal(request: FastifyRequest, reply: FastifyReply): Promise<Error | undefined> {
    return new Promise((resolve) => app.basicAuth(request, reply, resolve));
  }
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** What proxies add: behind one, a request from this machine can be anybody's. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'] as const;

/** A page elsewhere whose name resolves to this machine (DNS rebinding) sends its own name as host. */
function admitThisMachine(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onRequest', async ({ headers }, reply) => {
    const isProxied = proxyHeaders.some((name) => headers[name] !== undefined);
    if (loopbackHost.test(headers.host ?? '') && !isProxied) return;
    metrics.requestRefused('host');
    return reply.code(403).send({
      error: 'Without ADMIN_TOKEN this opens only on this machine, as localhost or 127.0.0.1, and not through a proxy.',
    });
  });
}

/** An IPv6 client has a whole /64 of addresses. */
function networkOf(address: string): string {
  return address.includes('.') || !address.includes(':') ? address : address.split(':').slice(0, 4).join(':');
}

function bearerOf({ headers }: FastifyRequest): string {
  const [scheme = '', token = ''] = (headers.authorization ?? '').split(' ', 2);
  return scheme.toLowerCase() === 'bearer' ? token : '';
}
