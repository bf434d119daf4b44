import type { Log } from '../../log.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import type { Database } from '../../warehouse/database.ts';
import type { OnAnswer } from '../finding.ts';
import { attribute, dropOvertaken, type Listed, listTouched, namesOf, nobody } from './touched.ts';
import {
  claimWindow,
  finishWindow,
  noteProgress,
  parkKind,
  planWindows,
  postponeWindow,
  releaseWindow,
  unparkKind,
  type Window,
} from './windows.ts';

/**
 * Asks call history by queue, huntgroup, user and extension what touched which call: legs are not documented, but a
 * filtered search lists exactly the calls that passed (section 4.6). Free, and behind everything else.
 */
export interface AttributionRounds {
  /**
   * Searches what is due with a few requests. Rejects only when the database cannot be reached: what the service refuses
   * parks that kind of search, and nothing else.
   */
  round(signal?: AbortSignal): Promise<void>;
}

export interface AttributionParts {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly onAnswer: OnAnswer;
  /** Requests of one round, about. At one round a minute, the default is less than one request in three seconds. */
  readonly requestsOfRound?: number;
}

const usualRequests = 20;
/** So many names refused, and none taken: it is the filter, not the names. */
const mostRefused = 3;

type Ending = 'finished' | 'budget_spent' | 'parked' | 'postponed';

export function createAttributionRounds(parts: AttributionParts): AttributionRounds {
  const { db, log, requestsOfRound = usualRequests } = parts;

  async function park(window: Window, reason: string): Promise<Ending> {
    log.warn({ kind: window.kind, reason }, 'Calls cannot be searched by this; their legs and ends still tell');
    await parkKind(db, window.kind, reason);
    await releaseWindow(db, window);
    return 'parked';
  }

  /** What a search lists; the refusal of this one name; or how it ends the turn of the window. */
  async function ask(
    window: Window,
    name: string,
    signal?: AbortSignal,
  ): Promise<Listed | { refusal: string } | Ending> {
    try {
      return await listTouched(parts, window, name, signal);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (signal?.aborted) {
        await releaseWindow(db, window);
        return 'budget_spent';
      }
      if (error.advice === 'refused') return { refusal: error.message };
      if (error.advice !== 'retry') return park(window, error.message);
      await postponeWindow(db, window, error.message);
      return 'postponed';
    }
  }

  async function search(window: Window, budget: { left: number }, signal?: AbortSignal): Promise<Ending> {
    const names = await namesOf(db, window);
    if (names.length > 0 && window.reached === null) {
      const listed = await ask(window, nobody, signal);
      if (typeof listed === 'string') return listed;
      budget.left -= 1;
      if ('callIds' in listed && listed.callIds.length > 0) {
        return park(window, 'The service lists calls for a name that nothing has: it does not heed this filter');
      }
    }
    let isTaken = window.reached !== null;
    const refusals: string[] = [];
    let unlisted: string | undefined;
    for (const name of names) {
      if (budget.left <= 0 || signal?.aborted) {
        await releaseWindow(db, window);
        return 'budget_spent';
      }
      const listed = await ask(window, name, signal);
      if (typeof listed === 'string') return listed;
      if ('refusal' in listed) {
        budget.left -= 1;
        refusals.push(listed.refusal);
        if (!isTaken && refusals.length >= mostRefused) break;
        continue;
      }
      if (!isTaken) await unparkKind(db, window.kind);
      isTaken = true;
      budget.left -= listed.requests;
      if (listed.unlisted > 0) {
        unlisted ??= `The service counts ${listed.unlisted} calls by a ${window.kind} beyond those that it lists`;
      }
      const attributed = await attribute(db, window.kind, name, listed.callIds);
      await noteProgress(db, window, { reached: name, searched: listed.requests, attributed });
    }
    const [refusal] = refusals;
    if (refusal !== undefined && !isTaken) return park(window, refusal);
    await finishWindow(db, window, refusal ?? unlisted);
    return 'finished';
  }

  return {
    async round(signal) {
      if ((await planWindows(db)) > 0) await dropOvertaken(db);
      const budget = { left: requestsOfRound };
      // A window that begins asks for nobody first, and must come further than that.
      while (budget.left > 1 && !signal?.aborted) {
        const window = await claimWindow(db);
        if (!window || (await search(window, budget, signal)) === 'postponed') return;
      }
    },
  };
}
