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
  method: 'POST' | 'PUT' | 'GET';
  contentType: string;
  /** Without the padding of an `oversized` fault. */
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

interface RecentEntries<Entry> {
  add(entry: Entry): void;
  /** The latest entries, oldest first. */
  list(limit?: number): Entry[];
  clear(): void;
}

/** Requests, deliveries and sends, for checks of a client. Bounded: the oldest entries are discarded. */
export interface History {
  requests: RecentEntries<RequestRecord>;
  deliveries: RecentEntries<DeliveryRecord>;
  sends: RecentEntries<SendAnswer>;
  clear(): void;
}

export function createHistory(capacity = 50_000): History {
  const requests = createRecentEntries<RequestRecord>(capacity);
  const deliveries = createRecentEntries<DeliveryRecord>(capacity);
  const sends = createRecentEntries<SendAnswer>(capacity);
  return {
    requests,
    deliveries,
    sends,
    clear() {
      for (const entries of [requests, deliveries, sends]) entries.clear();
    },
  };
}

function createRecentEntries<Entry>(capacity: number): RecentEntries<Entry> {
  let entries: Entry[] = [];
  return {
    add(entry) {
      entries.push(entry);
      if (entries.length >= capacity * 2) entries = entries.slice(-capacity);
    },
    list: (limit = capacity) => (limit === 0 ? [] : entries.slice(-Math.min(limit, capacity))),
    clear() {
      entries = [];
    },
  };
}

/** One POST of a send, with its status and its charge. */
export interface SendRecord extends Omit<SendAnswer, 'status'> {
  /** Null for a charge whose answer was not sent, or was sent before the last start of the sandbox. */
  status: number | null;
  /** Dollars; 0 when nothing was charged. */
  totalPrice: number;
}

/** The latest sends, oldest first: every answered POST, and every charge, also one whose answer was not sent. */
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
  ].map((record) => ({ ...record, totalPrice: record.charge === null ? 0 : dollars(record.charge.totalMicros) }));
  records.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
  return limit === 0 ? [] : records.slice(-limit);
}
