import type { FastifyInstance } from 'fastify';
import { retryHours } from '../completeness/coverage/coverage.ts';
import type { Context } from '../context.ts';
import { type CallbackOutcome, callbackPath, completeLogin } from '../credentials/login.ts';
import { tokenSealer } from '../credentials/sealer.ts';
import type { Database } from '../db/database.ts';
import { retryForbidden, retryStreams } from '../inbox/parking.ts';
import { createBurstCounter } from '../shared/bounded.ts';
import { toType } from '../shared/command-name.ts';
import type { Log } from '../shared/log.ts';
import { sendPlainPage } from './plain-page.ts';

/**
 * Registers `GET /oauth/callback`, where the service redirects a browser after a login (section 5.3). A request without
 * the state of a pending login changes nothing. The URL contains a code, so it is neither logged nor displayed.
 */
export function registerOAuthCallback(app: FastifyInstance, { settings, database, log, metrics }: Context): void {
  const { db } = database;
  const refusals = createRefusalRetry({ db, log });
  const refused = createBurstCounter({ quietMs: 60_000, maxKeys: 1 });
  app.addHook('onClose', () => refusals.stop());
  // A HEAD request must not use up the code.
  app.get(callbackPath, { exposeHeadRoute: false }, async (request, reply) => {
    const completed = await completeLogin({ db, log, sealer: tokenSealer(settings) }, request.url);
    if (completed.outcome === 'granted') await refusals.retry();
    if (completed.outcome === 'unknown') {
      metrics.requestRefused('login_state');
      // Anybody can repeat this request, so it is logged only once.
      if (refused.count('') === 1) {
        log.warn(
          { address: request.ip },
          'An OAuth callback did not belong to a pending login and was refused. Further ones are only counted',
        );
      }
    }
    return sendPlainPage(reply.code(statuses[completed.outcome]), sentenceOf(completed));
  });
}

const statuses = { granted: 200, denied: 200, failed: 502, unknown: 400 } as const;

function sentenceOf(completed: CallbackOutcome): string {
  switch (completed.outcome) {
    case 'granted':
      return completed.missingScopes.length === 0
        ? 'You are logged in; this window can be closed.'
        : 'You are logged in, but not with all requested scopes; this window can be closed.';
    case 'denied':
      return 'Access was not granted, as you chose; this window can be closed.';
    case 'failed':
      return 'The login failed. The reason is in the terminal where you started it.';
    case 'unknown':
      return `This login is no longer pending. Start again with ${toType('auth login')}.`;
  }
}

/** Other processes cache the old tokens for up to 10 s (`freshMs` of the credential), and a read takes time. */
const newTokensAfterSeconds = 15;

/**
 * After a login, schedules retries of the refused reads for when every process uses the new tokens. A retry with the
 * old tokens would be refused for another day. A second pass covers reads that were refused meanwhile. `retry` never
 * rejects, because every refused read is retried within a day anyway.
 */
function createRefusalRetry({ db, log }: { readonly db: Database; readonly log: Log }) {
  let timer: NodeJS.Timeout | undefined;
  let current = Promise.resolve();

  async function pass(afterSeconds: number): Promise<void> {
    try {
      await retryStreams(db);
      const targets = await retryForbidden(db, afterSeconds);
      const hours = await retryHours(db, afterSeconds);
      if (targets + hours > 0) log.info({ targets, hours }, 'The login makes refused reads due again');
    } catch (error) {
      log.warn({ err: error }, 'Refused reads could not be made due after the login; they are retried within a day');
    }
  }

  return {
    async retry() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        current = pass(0);
      }, newTokensAfterSeconds * 1_000).unref();
      await pass(newTokensAfterSeconds);
    },
    async stop() {
      clearTimeout(timer);
      await current;
    },
  };
}
