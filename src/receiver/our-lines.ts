import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { ourLines } from '../warehouse/entities/directory/lines.ts';

/** Which numbers are the account's own lines, as the mirror knows them: it tells the sides of a text apart. */
export interface OurLines {
  has(number: string): boolean;
  refresh(): Promise<void>;
  stop(): void;
}

const refreshMs = 2_000;

/** Empty until the first refresh; a hint that cannot be told apart then points at both threads it may mean. */
export function createOurLines(db: Database, log: Log): OurLines {
  let lines: ReadonlySet<string> = new Set();
  async function refresh(): Promise<void> {
    try {
      lines = new Set(await ourLines(db));
    } catch (error) {
      log.debug({ err: error }, 'The lines could not be refreshed; those known are used');
    }
  }
  const timer = setInterval(refresh, refreshMs).unref();
  return { has: (number) => lines.has(number), refresh, stop: () => clearInterval(timer) };
}
