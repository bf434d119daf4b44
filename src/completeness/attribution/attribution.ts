import { type Service, ServiceError } from '../../api-client/client.ts';
import type { Database } from '../../db/database.ts';
import type { Log } from '../../shared/log.ts';
import type { OnAnswer } from '../../warehouse/drift.ts';
import { attribute, deleteSuperseded, listCallsOf, type NameCalls, namesOf, unusedName } from './search.ts';
import {
  claimWindow,
  finishWindow,
  parkKind,
  planWindows,
  postponeWindow,
  recordProgress,
  releaseWindow,
  unparkKind,
  type Window,
} from './windows.ts';

export interface AttributionDeps {
  readonly db: Database;
  readonly service: Service;
  readonly log: Log;
  readonly onAnswer: OnAnswer;
  /** About how many requests a round makes. */
  readonly requestsOfRound?: number;
}

/** With one round a minute: one request in three seconds. */
const defaultRequests = 20;
/** After this many refused names and no accepted one, the filter itself counts as refused. */
const maxRefused = 3;

type Ending = 'finished' | 'budget_spent' | 'parked' | 'postponed';

export type AttributionRounds = ReturnType<typeof createAttributionRounds>;

/**
 * Searches call history by queue, huntgroup, user and extension to learn which of them handled which call. The fields of legs
 * are not specified; a filtered search lists exactly the calls that passed (section 4.6). Searches are free.
 */
export function createAttributionRounds(deps: AttributionDeps) {
  const { db, log, requestsOfRound = defaultRequests } = deps;

  async function park(window: Window, reason: string): Promise<Ending> {
    log.warn(
      { kind: window.kind, reason },
      'Calls cannot be searched by this filter; their legs and ends are still attributed',
    );
    await parkKind(db, window.kind, reason);
    await releaseWindow(db, window);
    return 'parked';
  }

  /** The calls of a name; why the service refused the name; or how the search of the window ends. */
  async function searchName(
    window: Window,
    name: string,
    signal?: AbortSignal,
  ): Promise<NameCalls | { refusal: string } | Ending> {
    try {
      return await listCallsOf(deps, window, name, signal);
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

  async function searchWindow(window: Window, budget: { left: number }, signal?: AbortSignal): Promise<Ending> {
    const names = await namesOf(db, window);
    if (names.length > 0 && window.reached === null) {
      const listed = await searchName(window, unusedName, signal);
      if (typeof listed === 'string') return listed;
      budget.left -= 1;
      if ('callIds' in listed && listed.callIds.length > 0) {
        return park(window, 'The service lists calls for a name that does not exist: it ignores this filter');
      }
    }
    let isAccepted = window.reached !== null;
    const refusals: string[] = [];
    let unlisted: string | undefined;
    for (const name of names) {
      if (budget.left <= 0 || signal?.aborted) {
        await releaseWindow(db, window);
        return 'budget_spent';
      }
      const listed = await searchName(window, name, signal);
      if (typeof listed === 'string') return listed;
      if ('refusal' in listed) {
        budget.left -= 1;
        refusals.push(listed.refusal);
        if (!isAccepted && refusals.length >= maxRefused) break;
        continue;
      }
      if (!isAccepted) await unparkKind(db, window.kind);
      isAccepted = true;
      budget.left -= listed.requests;
      if (listed.unlisted > 0) {
        unlisted ??= `The service counts ${listed.unlisted} calls by a ${window.kind} beyond those that it lists`;
      }
      const attributed = await attribute(db, window.kind, name, listed.callIds);
      await recordProgress(db, window, { reached: name, searched: listed.requests, attributed });
    }
    const [refusal] = refusals;
    if (refusal !== undefined && !isAccepted) return park(window, refusal);
    await finishWindow(db, window, refusal ?? unlisted);
    return 'finished';
  }

  return {
    /**
     * Searches due windows with a few requests. A refusal by the service parks that kind of search. Rejects only when the
     * database cannot be reached.
     */
    async round(signal?: AbortSignal): Promise<void> {
      if ((await planWindows(db)) > 0) await deleteSuperseded(db);
      const budget = { left: requestsOfRound };
      // The first request of a window only tests the filter, so a budget of one makes no progress.
      while (budget.left > 1 && !signal?.aborted) {
        const window = await claimWindow(db);
        if (!window || (await searchWindow(window, budget, signal)) === 'postponed') return;
      }
    },
  };
}
