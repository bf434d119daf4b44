import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { createSpells } from '../bounded.ts';
import type { Context } from '../context.ts';
import { type Completed, callbackPath, completeLogin } from '../credentials/login.ts';
import { tokenSealer } from '../credentials/sealer.ts';
import { createRegain } from './regain.ts';

/**
 * Takes what a browser brings back from the service (5.3): `GET /oauth/callback`. Whoever comes without the state of a
 * log in that is under way changes nothing. The address holds a code, so it is neither logged nor shown, and the page
 * says nothing but sentences of ours.
 */
export function registerOAuthCallback(app: FastifyInstance, { settings, database, log, metrics }: Context): void {
  const { db } = database;
  const regain = createRegain({ db, log });
  const strangers = createSpells({ quietMs: 60_000, maxKeys: 1 });
  app.addHook('onClose', () => regain.stop());
  // A look at the head of an answer must not use it up.
  app.get(callbackPath, { exposeHeadRoute: false }, async (request, reply) => {
    const completed = await completeLogin({ db, log, sealer: tokenSealer(settings) }, request.url);
    if (completed.outcome === 'granted') await regain.begin();
    if (completed.outcome === 'unknown') {
      metrics.requestRefused('login_state');
      // Anybody can ask for this, as often as they like.
      if (strangers.hit('') === 1) {
        log.warn(
          { address: request.ip },
          'A login was answered that is not under way; nothing was changed, and further ones are only counted',
        );
      }
    }
    return reply
      .code(statuses[completed.outcome])
      .headers({
        'content-security-policy': policy,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
      .type('text/html; charset=utf-8')
      .send(pageOf(completed));
  });
}

const statuses = { granted: 200, denied: 200, failed: 502, unknown: 400 } as const;

function sentenceOf(completed: Completed): string {
  switch (completed.outcome) {
    case 'granted':
      return completed.missingScopes.length === 0
        ? 'You are logged in; this window can be closed.'
        : 'You are logged in, without all that was asked for; this window can be closed.';
    case 'denied':
      return 'Nothing was granted, as you chose; this window can be closed.';
    case 'failed':
      return 'The log in did not succeed: the terminal in which it began says why.';
    case 'unknown':
      return 'This log in is not under way, or no longer: begin anew with `trunkline auth login`.';
  }
}

const style = `:root { color-scheme: light dark } body { font: 17px/1.5 system-ui, sans-serif; max-width: 34em; margin: 20vh auto; padding: 0 24px; }`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function pageOf(completed: Completed): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trunkline</title>
<style>${style}</style>
<p>${sentenceOf(completed)}</p>
</html>
`;
}
