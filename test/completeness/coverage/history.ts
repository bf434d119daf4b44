import { onTestFinished } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { createLog } from '../../../src/shared/log.ts';
import { type Asked, type OddService, type Reply, startOddService } from '../../world/service.ts';

/** A call history that pages as this test wants. */
export interface History {
  /** Unix seconds and sequence of each call, in any order. */
  readonly calls: { second: number; sequence: number }[];
  /** Most rows on a page; what is asked beyond is capped. */
  cap: number;
  /** Whether calls of one second come in another order with each search. */
  shuffles: boolean;
  /** Whether the ends of a window belong to it. */
  isClosed: boolean;
  /** Does something before a page is answered. */
  before: (search: Search) => void;
  /** Bends what is answered. */
  bend: (data: { total?: number; calls: unknown[] }) => Reply;
}

export interface Search {
  readonly start: number;
  readonly end: number;
  readonly limit: number;
  readonly offset: number;
  readonly sort?: { field: string; direction: string };
}

/** A number that looks drawn by lot, and is the same in each run. */
function drawn(sequence: number, turn: number): number {
  return Math.imul(Math.imul(sequence, 0x9e37_79b1) ^ Math.imul(turn + 1, 0x85eb_ca6b), 0xc2b2_ae35) >>> 0;
}

export function createHistory(): History {
  return {
    calls: [],
    cap: 500,
    shuffles: false,
    isClosed: true,
    before: () => undefined,
    bend: (data) => ({ data }),
  };
}

export function callAt(second: number, sequence: number): { second: number; sequence: number } {
  return { second, sequence };
}

/** Serves the history by `POST /calls/search`; everything else is not found. */
export async function serveHistory(history: History) {
  const service: OddService = await startOddService();
  const searches: Search[] = [];
  service.answer = (asked: Asked) => {
    if (asked.path !== '/calls/search') return { error: 'not_found', status: 404 };
    const search = JSON.parse(asked.body) as Search;
    searches.push(search);
    history.before(search);
    const { start, end } = search;
    const within = history.calls
      .filter(({ second }) => (history.isClosed ? second >= start && second <= end : second > start && second < end))
      .map((call) => ({ ...call, order: history.shuffles ? drawn(call.sequence, searches.length) : call.sequence }))
      .sort((a, b) => a.second - b.second || a.order - b.order);
    const ordered = search.sort?.direction === 'asc' ? within : within.reverse();
    const page = ordered.slice(search.offset, search.offset + Math.min(search.limit, history.cap));
    return history.bend({ total: within.length, calls: page.map(row) });
  };
  const client = createService({
    baseUrl: service.url,
    apiKey: 'key-of-the-test',
    log: createLog('silent'),
    retry: { tries: 1 },
    circuit: { failures: 1_000 },
  });
  onTestFinished(async () => {
    await client.close();
    await service[Symbol.asyncDispose]();
  });
  return { client, searches };
}

function row({ second, sequence }: { second: number; sequence: number }): object {
  return {
    id: `${second}.${sequence}`,
    direction: 'inbound',
    status: 'missed',
    startTime: new Date(second * 1_000).toISOString(),
    durationSeconds: 5,
    talkTimeSeconds: 0,
    recorded: false,
  };
}
