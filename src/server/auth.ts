import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../shared/log.ts';
import { maskNumbers } from '../shared/masking.ts';
import type { Metrics } from '../shared/metrics.ts';
import { createBurstCounter } from './bursts.ts';
import { sendSentence } from './errors.ts';
import { privately } from './page.ts';

const linkSeconds = 3_600;
/** How long a browser stays signed in. */
const sessionSeconds = 30 * 86_400;

/** Milliseconds before a wrong token is refused. The right one is never delayed. */
const refusalMs = 500;
/** Delayed refusals keep connections open. Beyond this number, a wrong token is refused at once. */
const maxDelayed = 50;

const howToSignIn =
  'Sign in with the link that Trunkline printed at its start, or with ADMIN_TOKEN as the password and any user name.';

/**
 * Admits requests with the admin token, whatever address they come from: behind a local proxy, every request looks like
 * loopback. Without a token, nobody is admitted.
 */
export function createGuard({
  adminToken,
  metrics,
  log,
}: {
  readonly adminToken: string | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}) {
  const guesses = createBurstCounter();
  let delayed = 0;

  const signInBy = (request: FastifyRequest) =>
    adminToken === undefined ? undefined : signInWith(adminToken, request);

  async function refuse(request: FastifyRequest, reply: FastifyReply, isGuess: boolean, sentence = howToSignIn) {
    if (isGuess) {
      const address = request.ip;
      metrics.requestRefused('admin_token');
      if (guesses(address) === 1)
        log.warn({ address }, 'A request had a wrong ADMIN_TOKEN. Further ones from this address are only counted');
      delayed += 1;
      if (delayed <= maxDelayed) await delay(refusalMs);
      delayed -= 1;
    }
    reply.code(401).header('www-authenticate', 'Basic realm="Trunkline", charset="UTF-8"');
    return sendSentence(request, reply, sentence);
  }

  return {
    /**
     * Requires the token for the routes of a scope: as a bearer token, as the password of basic authentication, or by
     * the cookie of a signed-in browser. Answers of the scope must not be cached.
     */
    protect(scope: FastifyInstance): void {
      scope.addHook('onRequest', async (request, reply) => {
        reply.headers(privately);
        const signIn = signInBy(request);
        if (signIn === undefined) return refuse(request, reply, request.headers.authorization !== undefined);
        signIns.set(request, signIn);
      });
    },
    /** Serves the printed link, which sets the cookie and redirects to the status page. */
    serveSignIn(app: FastifyInstance, publicUrl: string | undefined): void {
      app.get<{ Querystring: { code?: unknown } }>('/sign-in', { exposeHeadRoute: false }, async (request, reply) => {
        const code = String(request.query.code ?? '');
        reply.headers({ ...privately, 'referrer-policy': 'no-referrer' });
        if (adminToken === undefined) return refuse(request, reply, false);
        if (isPass(adminToken, 'link', code)) {
          const secure = isHttps(request, publicUrl) ? '; Secure' : '';
          const cookie = `${cookieName(adminToken)}=${newPass(adminToken, 'session', sessionSeconds)}`;
          reply.header('set-cookie', `${cookie}; Path=/; Max-Age=${sessionSeconds}; HttpOnly; SameSite=Lax${secure}`);
        } else if (signInBy(request) === undefined) {
          return refuse(request, reply, code !== '', `This link has expired, or it is not complete. ${howToSignIn}`);
        }
        return reply.code(303).header('location', '/').send();
      });
    },
  };
}

/** A link to the pages at `base`, valid for an hour. */
export function signInLink(base: string, adminToken: string): string {
  const link = new URL('/sign-in', base);
  link.searchParams.set('code', newPass(adminToken, 'link', linkSeconds));
  return link.href;
}

/** How the client of an admitted request signed in. */
type SignIn = Readonly<{ by: 'bearer' | 'basic' | 'session'; user?: string }>;
const signIns = new WeakMap<FastifyRequest, SignIn>();

function signInWith(adminToken: string, { headers }: FastifyRequest): SignIn | undefined {
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(/ +/, 2);
  if (scheme.toLowerCase() === 'bearer' && isSame(credentials, adminToken)) return { by: 'bearer' };
  // A proxy in front may use a password of its own, which the browser sends here too. So check the cookie in any case.
  const begin = `${cookieName(adminToken)}=`;
  const cookies = (headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(begin));
  if (cookies.some((each) => isPass(adminToken, 'session', each.slice(begin.length)))) return { by: 'session' };
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const [user = '', ...password] = Buffer.from(credentials, 'base64').toString().split(':');
  if (!isSame(password.join(':'), adminToken)) return undefined;
  // Some people type the token in both fields.
  const isName = user !== '' && !user.toLowerCase().includes(adminToken.toLowerCase());
  return { by: 'basic', ...(isName && { user: maskNumbers(user.slice(0, 100)) }) };
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

/** Whether the browser uses https, according to a proxy or PUBLIC_URL: else it wouldn't send a cookie that needs it. */
function isHttps({ headers }: FastifyRequest, publicUrl: string | undefined): boolean {
  const isPublic = publicUrl !== undefined && new URL(publicUrl).origin === `https://${headers.host}`;
  return isPublic || String(headers['x-forwarded-proto'] ?? '').startsWith('https');
}

/**
 * A pass replaces the token where it must not appear: a `link` in a browser's history, a `session` in its cookie. It
 * consists of its expiry and an HMAC of it. So nothing is stored, every process accepts it, and a new token ends it.
 */
function newPass(adminToken: string, purpose: 'link' | 'session', seconds: number): string {
  const expiry = Math.floor(Date.now() / 1_000) + seconds;
  return `${expiry}.${macOf(adminToken, `${purpose} ${expiry}`)}`;
}

function isPass(adminToken: string, purpose: 'link' | 'session', given: string): boolean {
  const [expiry = '', mac = ''] = given.split('.', 2);
  return Number(expiry) * 1_000 > Date.now() && isSame(mac, macOf(adminToken, `${purpose} ${expiry}`));
}

/** Browsers share the cookies of a host among all its ports, on which several deployments may run. */
function cookieName(adminToken: string): string {
  return `trunkline_${macOf(adminToken, 'cookie').slice(0, 8)}`;
}

function macOf(adminToken: string, what: string): string {
  return createHmac('sha256', adminToken).update(`trunkline ${what}`).digest('hex');
}

/** Constant-time comparison: reveals neither where two texts differ nor how long the expected one is. */
function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
