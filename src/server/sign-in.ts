import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The address of a printed link. */
export const signInPath = '/sign-in';

const linkSeconds = 3_600;
/** How long a browser stays signed in. */
const sessionSeconds = 30 * 86_400;

/**
 * Passes that replace the admin token where it must not appear: a `link` in a browser's history, a `session` in its
 * cookie. Each consists of its expiry and an HMAC of it. So nothing is stored, every process accepts them, and a new
 * token invalidates them.
 */
type Purpose = 'link' | 'session';

/** A link to the pages at `base`, valid for an hour. */
export function signInLink(base: string, adminToken: string): string {
  const link = new URL(signInPath, base);
  link.searchParams.set('code', issue(adminToken, 'link', linkSeconds));
  return link.href;
}

/** Whether the code of such a link is ours and still valid. */
export function isLinkCode(adminToken: string, code: string): boolean {
  return isValid(adminToken, 'link', code);
}

/** The value of a `set-cookie` header that signs a browser in. */
export function sessionCookie(adminToken: string, isHttps: boolean): string {
  const value = issue(adminToken, 'session', sessionSeconds);
  const flags = `Path=/; Max-Age=${sessionSeconds}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
  return `${cookieName(adminToken)}=${value}; ${flags}`;
}

/** Whether a request comes from a browser that has signed in. */
export function hasSession(adminToken: string, { cookie = '' }: IncomingHttpHeaders): boolean {
  const begin = `${cookieName(adminToken)}=`;
  return cookie
    .split(/; */)
    .some((each) => each.startsWith(begin) && isValid(adminToken, 'session', each.slice(begin.length)));
}

/** Constant-time comparison: reveals neither where two texts differ nor how long the expected one is. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

/** Browsers share the cookies of a host among all its ports, on which several deployments may run. */
function cookieName(adminToken: string): string {
  return `trunkline_${macOf(adminToken, 'cookie').slice(0, 8)}`;
}

function issue(adminToken: string, purpose: Purpose, seconds: number): string {
  const expiry = Math.floor(Date.now() / 1_000) + seconds;
  return `${expiry}.${macOf(adminToken, `${purpose} ${expiry}`)}`;
}

function isValid(adminToken: string, purpose: Purpose, given: string): boolean {
  const expiry = given.slice(0, given.indexOf('.'));
  if (!/^\d{1,12}$/.test(expiry) || Number(expiry) * 1_000 < Date.now()) return false;
  return isSame(given, `${expiry}.${macOf(adminToken, `${purpose} ${expiry}`)}`);
}

function macOf(adminToken: string, what: string): string {
  return createHmac('sha256', adminToken).update(`trunkline ${what}`).digest('hex');
}
