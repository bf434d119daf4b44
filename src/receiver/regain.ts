import { retryForbidden, retryStreams } from '../inbox/streams.ts';
import type { Log } from '../log.ts';
import { retryHours } from '../sync/coverage/coverage.ts';
import type { Database } from '../warehouse/database.ts';

/** Brings back what the credential before was refused. */
export interface Regain {
  /** Somebody logged in. Never rejects: the log in holds, and what was refused is asked for again some day anyway. */
  begin(): Promise<void>;
  stop(): Promise<void>;
}

/** Processes go by the tokens that they hold for ten seconds more (`freshMs` of the credential), and a read takes some. */
const seenAfterSeconds = 15;

/**
 * After a log in, what was refused is due as soon as every process asks with the new tokens, and not before: it would be
 * refused for another day. What the old ones are refused meanwhile is found by a second look.
 */
export function createRegain({ db, log }: { readonly db: Database; readonly log: Log }): Regain {
  let timer: NodeJS.Timeout | undefined;
  let current = Promise.resolve();

  async function look(afterSeconds: number): Promise<void> {
    try {
      await retryStreams(db);
      const targets = await retryForbidden(db, afterSeconds);
      const hours = await retryHours(db, afterSeconds);
      if (targets + hours > 0) log.info({ targets, hours }, 'What was refused before the log in is asked for again');
    } catch (error) {
      log.warn({ err: error }, 'What was refused before the log in is not asked for sooner than it was due');
    }
  }

  return {
    async begin() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        current = look(0);
      }, seenAfterSeconds * 1_000).unref();
      await look(seenAfterSeconds);
    },
    async stop() {
      clearTimeout(timer);
      await current;
    },
  };
}
