import type { Charge, EventType } from './account.ts';
import { dollars } from './sending/billing.ts';
import type { Store } from './store/store.ts';

export interface RequestRecord {
  at: string;
  method: string;
  path: string;
  status: number;
  /** Name of the credential; null when the request had no valid one. */
  key: string | null;
  durationMs: number;
  /** The `x-request-id` header. */
  requestId?: string;
  /** Kinds of the faults that applied. */
  fault?: string;
}

interface DeliveryAttempt {
  at: string;
  status: number | null;
  error?: string;
}

export interface DeliveryRecord {
  id: number;
  at: string;
  subscriptionId: number;
  type: EventType;
  body: string;
  outcome: 'pending' | 'delivered' | 'failed' | 'dropped' | 'cut';
  attempts: DeliveryAttempt[];
  /** Kinds of the faults that applied. */
  fault?: string;
}

/** An answered POST of a send. */
interface SendAnswer {
  at: string;
  /** Name of the credential; null when there was no valid one. */
  key: string | null;
  status: number;
  /** Null when nothing was charged. */
  charge: Charge | null;
}

/** Requests, deliveries and sends, for checks of a client. Bounded: the oldest entries are discarded. */
export type History = ReturnType<typeof createHistory>;

export function createHistory(capacity = 50_000) {
  const requests = createRecentEntries<RequestRecord>(capacity);
  const deliveries = createRecentEntries<DeliveryRecord>(capacity);
  const sends = createRecentEntries<SendAnswer>(capacity);
  return {
    requests,
    deliveries,
    sends,
    clear(): void {
      for (const entries of [requests, deliveries, sends]) entries.clear();
    },
  };
}

function createRecentEntries<Entry>(capacity: number) {
  let entries: Entry[] = [];
  return {
    add(entry: Entry): void {
      entries.push(entry);
      if (entries.length >= capacity * 2) entries = entries.slice(-capacity);
    },
    /** The latest entries, oldest first. */
    list: (limit = capacity): Entry[] => (limit === 0 ? [] : entries.slice(-Math.min(limit, capacity))),
    clear(): void {
      entries = [];
    },
  };
}

/** One POST of a send, with its status and its charge. */
export interface SendRecord extends Omit<SendAnswer, 'status'> {
  /** Null for a charge whose answer wasn't sent, or was sent before the last start of the sandbox. */
  status: number | null;
  /** Dollars; 0 when nothing was charged. */
  totalPrice: number;
}

/** The latest sends, oldest first: every answered POST, and every charge, also one whose answer wasn't sent. */
export function sendRecords(
  { charges }: Pick<Store, 'charges'>,
  { sends }: Pick<History, 'sends'>,
  limit = Number.POSITIVE_INFINITY,
): SendRecord[] {
  const answers = sends.list();
  const answered = new Set(answers.map(({ charge }) => charge?.id));
  const unanswered = charges.values().filter(({ id }) => !answered.has(id));
  const records = [
    ...unanswered.map((charge) => ({ at: charge.at, key: charge.key, status: null, charge })),
    ...answers,
  ].map(({ charge, ...answer }) => ({
    ...answer,
    totalPrice: charge === null ? 0 : dollars(charge.totalMicros),
    charge,
  }));
  records.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
  return limit === 0 ? [] : records.slice(-limit);
}
