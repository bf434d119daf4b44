import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createBurstCounter } from '../shared/bounded.ts';
import type { Log } from '../shared/log.ts';
import { maskNumbers } from '../shared/masking.ts';
import type { Metrics } from '../shared/metrics.ts';
import { sendPlainPage, wantsPage } from './plain-page.ts';
import { hasSession, isLinkCode, isSame, sessionCookie, signInPath } from './sign-in.ts';

export interface GuardDeps {
  /** Without a token, nobody is admitted. */
  readonly adminToken: string | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Admits requests with the admin token, whatever address they come from: behind a local proxy, every request looks like
 * loopback.
 */
export interface Guard {
  /**
   * Requires the token for the routes of a scope: as a bearer token, as the password of basic authentication, or by the
   * cookie of a signed-in browser. Answers of the scope must not be cached.
   */
  protect(scope: FastifyInstance): void;
  /**
   * Serves the printed link, which sets the cookie and redirects to the status page. `publicUrl` tells where https is
   * used.
   */
  serveSignIn(app: FastifyInstance, publicUrl: string | undefined): void;
}

/** Each wrong token from an address adds so many milliseconds to the delay of its refusals. */
const delayStepMs = 50;
const maxDelayMs = 1_000;
/** Delayed refusals keep connections open. Beyond this number, a wrong token gets 429 at once. */
const maxDelayed = 50;

/** After so many milliseconds without a wrong token, an address counts as new. */
const quietMs = 60_000;
const maxAddresses = 1_000;

const howToSignIn =
  'Sign in with the link that Trunkline printed at its start, or with ADMIN_TOKEN as the password and any user name.';

/** Refusals of wrong tokens, codes and cookies are delayed longer each time. The right one is never delayed. */
export function createGuard({ adminToken, metrics, log }: GuardDeps): Guard {
  const guesses = createBurstCounter({ quietMs, maxKeys: maxAddresses });
  let delayed = 0;

  /** Counts a wrong guess and delays its refusal. Returns false if too many refusals are already delayed. */
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

  async function refuse(request: FastifyRequest, reply: FastifyReply, isGuess: boolean, sentence: string) {
    if (isGuess && !(await delayRefusal(request.ip))) {
      return reply.code(429).header('retry-after', '1').send({ error: 'too many wrong tokens' });
    }
    reply.code(401).header('www-authenticate', 'Basic realm="Trunkline", charset="UTF-8"');
    return wantsPage(request) ? sendPlainPage(reply, sentence) : reply.send({ error: sentence });
  }

  return {
    protect(scope) {
      scope.addHook('onSend', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      scope.addHook('onRequest', async (request, reply) => {
        const signIn = adminToken === undefined ? undefined : signInWith(adminToken, request);
        if (signIn === undefined) {
          return refuse(request, reply, request.headers.authorization !== undefined, howToSignIn);
        }
        signIns.set(request, signIn);
      });
    },
    serveSignIn(app, publicUrl) {
      app.get<{ Querystring: { code?: unknown } }>(signInPath, { exposeHeadRoute: false }, async (request, reply) => {
        const code = String(request.query.code ?? '');
        reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
        if (adminToken === undefined) return refuse(request, reply, false, howToSignIn);
        const isSignedIn = signInWith(adminToken, request) !== undefined;
        const isOurs = isLinkCode(adminToken, code);
        if (!isSignedIn && !isOurs) {
          return refuse(request, reply, code !== '', `This link has expired, or it is not complete. ${howToSignIn}`);
        }
        if (isOurs) reply.header('set-cookie', sessionCookie(adminToken, isHttps(request, publicUrl)));
        return reply.code(303).header('location', '/').send();
      });
    },
  };
}

/** How the client of an admitted request signed in. */
interface SignIn {
  readonly by: 'bearer' | 'basic' | 'session';
  readonly user?: string;
}

const signIns = new WeakMap<FastifyRequest, SignIn>();

function signInWith(adminToken: string, { headers }: FastifyRequest): SignIn | undefined {
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(/ +/, 2);
  if (scheme.toLowerCase() === 'bearer' && isSame(credentials, adminToken)) return { by: 'bearer' };
  // A proxy in front may use a password of its own, which the browser sends here too. So check the cookie in any case.
  if (hasSession(adminToken, headers)) return { by: 'session' };
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const [user = '', ...password] = Buffer.from(credentials, 'base64').toString().split(':');
  if (!isSame(password.join(':'), adminToken)) return undefined;
  return { by: 'basic', ...(user !== '' && !resembles(user, adminToken) && { user: maskNumbers(user.slice(0, 100)) }) };
}

/** Maximum number of consecutive characters that a user name and the token may share by accident. */
const maxCommon = 5;

/** Some people type the token in both fields, with a blank or a word next to it, or with a typo. */
function resembles(user: string, adminToken: string): boolean {
  const [typed, token] = [user, adminToken].map((text) => text.toLowerCase().replace(/\s+/g, ''));
  if (!typed || !token) return false;
  const length = Math.min(token.length, maxCommon + 1);
  for (let at = 0; at + length <= token.length; at += 1) if (typed.includes(token.slice(at, at + length))) return true;
  return false;
}

/**
 * Whether the browser uses https, according to a proxy or PUBLIC_URL. A cookie marked for https isn't sent without it.
 */
function isHttps({ headers }: FastifyRequest, publicUrl: string | undefined): boolean {
  if (String(headers['x-forwarded-proto'] ?? '').startsWith('https')) return true;
  if (publicUrl === undefined || !URL.canParse(publicUrl)) return false;
  const { protocol, host } = new URL(publicUrl);
  return protocol === 'https:' && host === headers.host;
}

/** An IPv6 client has a whole /64 of addresses. */
function networkOf(address: string): string {
  return address.includes('.') || !address.includes(':') ? address : address.split(':').slice(0, 4).join(':');
}

/** Whether an admitted request comes from a program: a page of another site can't add a bearer token. */
export function isProgram(request: FastifyRequest): boolean {
  return signIns.get(request)?.by === 'bearer';
}

/** Who made an admitted request, as far as known: how they signed in, the user name and the address. */
export function signInOf(request: FastifyRequest): Readonly<Record<string, string>> {
  const { by, user } = signIns.get(request) ?? { by: 'unknown' };
  const forwarded = request.headers['x-forwarded-for'];
  return {
    signIn: by,
    address: request.ip,
    ...(forwarded !== undefined && { forwardedFor: String(forwarded).slice(0, 100) }),
    ...(user !== undefined && { user }),
  };
}
