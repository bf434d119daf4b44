import { timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import basicAuth from '@fastify/basic-auth';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createBurstCounter } from '../shared/bounded.ts';
import type { Log } from '../shared/log.ts';
import { maskNumbers } from '../shared/masking.ts';
import type { Metrics } from '../shared/metrics.ts';

export interface GuardDeps {
  /** Without one, only this machine may open the pages; the settings require one for other hosts. */
  readonly adminToken: string | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Milliseconds that each wrong token of an address adds to the delay of its refusals. */
const delayStepMs = 50;
const maxDelayMs = 1_000;
/** Delayed refusals keep connections open. Beyond this number, a wrong token is answered 429 at once. */
const maxDelayed = 50;

/** Milliseconds without a wrong token after which an address counts as new. */
const quietMs = 60_000;
const maxAddresses = 1_000;

/**
 * Requires `ADMIN_TOKEN` for the routes of this scope, as a bearer token or the password of basic authentication. Refusals of
 * wrong tokens are delayed more each time; the right token is never delayed. Without ADMIN_TOKEN only requests to a loopback
 * host pass. No answer of the scope may be cached.
 */
export function guardPages(app: FastifyInstance, { adminToken, metrics, log }: GuardDeps): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  if (adminToken === undefined) admitThisMachine(app, metrics);
  else askForToken(app, { adminToken, metrics, log });
}

function askForToken(app: FastifyInstance, { adminToken, metrics, log }: GuardDeps & { adminToken: string }): void {
  const expected = Buffer.from(adminToken);
  const isExpected = (given: string) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
  const guesses = createBurstCounter({ quietMs, maxKeys: maxAddresses });
  let delayed = 0;

  /** Counts a wrong token and delays its refusal; false if too many are delayed already. */
  async function delayRefusal(address: string): Promise<boolean> {
    metrics.requestRefused('admin_token');
    const wrong = guesses.count(networkOf(address));
    if (wrong === 1)
      log.warn({ address }, 'A request had a wrong ADMIN_TOKEN. Further ones from this address are only counted');
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
    if (isGuess && !(await delayRefusal(request.ip))) {
      return reply.code(429).header('retry-after', '1').send({ error: 'too many wrong tokens' });
    }
    throw refusal;
  });

  function basicRefusal(request: FastifyRequest, reply: FastifyReply): Promise<Error | undefined> {
    return new Promise((resolve) => app.basicAuth(request, reply, resolve));
  }
}

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** Headers of proxies, through which a request from anywhere seems to come from this machine. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'] as const;

/** Checks the Host header against DNS rebinding: a page whose name resolves to this machine sends its own name. */
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

/** Who a request of an admitted client is from, as far as it says: how it signed in, with which user name, and its address. */
export function signInOf(request: FastifyRequest): Readonly<Record<string, string>> {
  const [scheme = '', credentials = ''] = (request.headers.authorization ?? '').split(' ', 2);
  const forwarded = request.headers['x-forwarded-for'];
  const told = {
    signIn: scheme === '' ? 'this machine, without ADMIN_TOKEN' : scheme.toLowerCase(),
    address: request.ip,
    ...(forwarded !== undefined && { forwardedFor: String(forwarded).slice(0, 100) }),
  };
  if (told.signIn !== 'basic') return told;
  const [user = '', ...password] = Buffer.from(credentials, 'base64').toString().split(':');
  // Some type the token in both fields.
  return user === password.join(':') ? told : { ...told, user: maskNumbers(user.slice(0, 100)) };
}
