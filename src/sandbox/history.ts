import type { EventType } from './account.ts';

export interface RequestRecord {
  at: string;
  method: string;
  path: string;
  status: number;
  /** Name of the API key; null when the request had no valid credential. */
  key: string | null;
  durationMs: number;
  /** What struck it. */
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
  /** Without what a fault fills it up with. */
  body: string;
  outcome: 'pending' | 'delivered' | 'failed' | 'dropped' | 'cut';
  attempts: DeliveryAttempt[];
  /** What struck it. */
  fault?: string;
}

/** A POST of a send that was answered; what it cost is kept with the account. */
interface SendAnswer {
  at: string;
  /** Name of the credential; null when there was no valid one. */
  key: string | null;
  status: number;
  /** Null when nothing was charged. */
  chargeId: number | null;
}

interface Ledger<Entry> {
  add(entry: Entry): void;
  /** The last entries, oldest of them first. */
  list(limit?: number): Entry[];
  clear(): void;
}

/** What the sandbox saw and did, for whoever checks a client against it. Bounded: the oldest entries go. */
export interface History {
  requests: Ledger<RequestRecord>;
  deliveries: Ledger<DeliveryRecord>;
  sends: Ledger<SendAnswer>;
  clear(): void;
}

export function createHistory(capacity = 50_000): History {
  const requests = createLedger<RequestRecord>(capacity);
  const deliveries = createLedger<DeliveryRecord>(capacity);
  const sends = createLedger<SendAnswer>(capacity);
  return {
    requests,
    deliveries,
    sends,
    clear() {
      for (const ledger of [requests, deliveries, sends]) ledger.clear();
    },
  };
}

function createLedger<Entry>(capacity: number): Ledger<Entry> {
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
