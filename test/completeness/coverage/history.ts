import { onTestFinished } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { createLog } from '../../../src/shared/log.ts';
import { type Asked, type OddService, type Reply, startOddService } from '../../world/service.ts';

/** The Unix second at which it starts, its sequence, and how long it lasts. */
interface ShownCall {
  readonly second: number;
  readonly sequence: number;
  readonly seconds: number;
}

/** A call history that pages as this test wants. */
export interface History {
  /** In any order. */
  readonly calls: ShownCall[];
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
  /** What is answered instead. */
  refuse: (search: Search) => Reply | undefined;
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
    refuse: () => undefined,
  };
}

export function callAt(second: number, sequence: number, seconds = 5): ShownCall {
  return { second, sequence, seconds };
}

/** Serves the history by `POST /calls/search`; everything else is not found. */
export async function serveHistory(history: History) {
  const service: OddService = await startOddService();
  const searches: Search[] = [];
  service.answer = (asked: Asked) => {
    if (asked.path !== '/calls/search') return { error: 'not_found', status: 404 };
    const search = JSON.parse(asked.body) as Search;
    searches.push(search);
    const refusal = history.refuse(search);
    if (refusal) return refusal;
    history.before(search);
    const { start, end } = search;
    const isByEnd = search.sort?.field === 'endTime';
    const within = history.calls
      .filter(({ second }) => (history.isClosed ? second >= start && second <= end : second > start && second < end))
      .map((call) => ({
        ...call,
        at: call.second + (isByEnd ? call.seconds : 0),
        order: history.shuffles ? drawn(call.sequence, searches.length) : call.sequence,
      }))
      .sort((a, b) => a.at - b.at || a.order - b.order);
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
  return { client, searches, service };
}

const isoOf = (second: number) => new Date(second * 1_000).toISOString();

function row({ second, sequence, seconds }: ShownCall): object {
  const told = {
    direction: 'inbound',
    status: 'missed',
    recorded: false,
    talkTimeSeconds: 0,
    durationSeconds: seconds,
  };
  return { id: `${second}.${sequence}`, ...told, startTime: isoOf(second), endTime: isoOf(second + seconds) };
}
