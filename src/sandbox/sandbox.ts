import { join } from 'node:path';
import { defaultSettings, scopes } from './account.ts';
import { createLinks } from './api/files.ts';
import type { Context } from './context.ts';
import { createFaults } from './faults/faults.ts';
import { type FaultInput, faultList } from './faults/spec.ts';
import { createHistory, type DeliveryRecord, type RequestRecord, type SendRecord, sendRecords } from './history.ts';
import { validate } from './http/api.ts';
import { createServer } from './http/server.ts';
import { createRandom, deriveSeed } from './random.ts';
import { rolesOf } from './seed/directory.ts';
import { directoryOf, seedStore } from './seed/seed.ts';
import { applyOptOut } from './sending/carrier.ts';
import { type Journal, type Origin, openJournal } from './store/journal.ts';
import { createStore, type Store } from './store/store.ts';
import { type Beat, createTimers, realBeat } from './timers.ts';
import {
  announceTranscripts,
  type CallEvent,
  type CallMade,
  callEvent,
  type SmsEvent,
  type SmsMade,
  simulateCall,
  simulateSms,
  simulateTranscript,
  smsEvent,
  type TranscriptEvent,
  type TranscriptMade,
  transcriptEvent,
} from './traffic/events.ts';
import { startTraffic } from './traffic/traffic.ts';
import { createDispatcher } from './webhooks/dispatcher.ts';

export interface SandboxOptions {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Decides all generated data. Default 1. */
  seed?: number;
  /** Calls in the seeded history: of 14 days, or one day per 1,000 calls above that. Default 400. */
  calls?: number;
  /** Seeded text conversations. Default 60. */
  threads?: number;
  /** Generates texts and calls, about one every 1.5 s or every `everyMs`. Default false. */
  traffic?: boolean | { everyMs: number };
  /** Folder where the state survives a restart; without it, the state is in memory only. */
  dataDir?: string;
  now?: () => Date;
  /** Delay before each retry of a delivery. Default 1, 5 and 30 s. */
  deliveryRetriesMs?: readonly number[];
  /** Default: timers. */
  beat?: Beat;
}

export interface Sandbox {
  /** Base address; the API is under `/api/public/v1`. */
  readonly url: string;
  /** A key with all scopes. */
  readonly apiKey: string;
  /** The account itself: what is changed here is answered from then on, and no webhook announces it. */
  readonly store: Store;
  /** Restores the seeded state: one key, no subscriptions, no faults, no history. */
  reset(): Promise<void>;
  emit: {
    sms(event?: SmsEvent): Promise<SmsMade>;
    call(event?: CallEvent): Promise<CallMade>;
    transcript(event?: TranscriptEvent): Promise<TranscriptMade>;
  };
  /** Replaces all faults: without an argument, none is left. */
  faults(...faults: FaultInput[]): void;
  requests(limit?: number): RequestRecord[];
  /** Every answered POST of a send, and every charge. */
  sends(limit?: number): SendRecord[];
  deliveries(limit?: number): DeliveryRecord[];
  /** Stops traffic, aborts deliveries and connections, and closes the server. */
  close(): Promise<void>;
}

/** The port that `trunkline start` and `trunkline sandbox` try first. */
export const defaultSandboxPort = 4010;
const apiKey = 'sandbox-key';
const defaultTrafficMs = 1_500;

/** Starts the sandbox. Rejects when it can't listen on the port or open the data folder. */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { now = () => new Date(), traffic = false } = options;
  const { origin, journal } = openState(options, now);
  const directory = directoryOf(origin);
  const store = createStore((change) => journal?.append(change));
  seed(store);
  for (const change of journal?.changes ?? []) store.apply(change);

  let url = '';
  const history = createHistory();
  const faults = createFaults(origin.seed);
  const timers = createTimers(options.beat ?? realBeat);
  // After a restart with a longer journal, new events differ from those already recorded.
  const liveSeed = () => deriveSeed(origin.seed, `live ${store.messages.highestKey()} ${store.calls.size()}`);
  const random = createRandom(liveSeed());
  const links = createLinks(() => url, origin.seed);
  const { deliveryRetriesMs } = options;
  const dispatcher = createDispatcher({ store, faults, history, timers, now, deliveryRetriesMs });
  const context: Context = {
    store,
    directory,
    links,
    faults,
    history,
    timers,
    random,
    now,
    announce: dispatcher.announce,
    pendingDeliveries: dispatcher.pending,
    reset,
  };

  function seed(target: Store): void {
    seedStore(target, origin, directory);
    for (const message of target.messages.values()) applyOptOut(target, message, false);
    target.keys.load({ key: apiKey, name: 'default', scopes: [...scopes] });
    target.settings.load(defaultSettings);
    for (const role of rolesOf(directory.users)) target.roles.load(role);
  }

  function startEvents(): void {
    const at = now().getTime();
    for (const call of store.calls.between(Math.floor(at / 1000) - 86_400, Math.floor(at / 1000))) {
      if (call.transcriptsAt === null || call.transcriptsAt <= at) continue;
      timers.after(call.transcriptsAt - at, () => announceTranscripts(context, call.id));
    }
    if (traffic !== false) startTraffic(context, traffic === true ? defaultTrafficMs : traffic.everyMs);
  }

  async function reset(): Promise<void> {
    timers.clear();
    await dispatcher.cut();
    journal?.restart();
    store.clear();
    seed(store);
    faults.set([]);
    history.clear();
    random.reseed(liveSeed());
    startEvents();
  }

  let closing: Promise<void> | undefined;
  async function shutDown(): Promise<void> {
    timers.clear();
    await server.close();
    // Requests answered during the close may have set new timers.
    timers.clear();
    await dispatcher.close();
    journal?.close();
  }

  const server = await createServer(context);
  try {
    url = await server.listen({ port: options.port ?? 0, host: options.host ?? '127.0.0.1' });
  } catch (error) {
    journal?.close();
    throw error;
  }
  startEvents();

  return {
    url,
    apiKey,
    store,
    reset,
    emit: {
      sms: async (event = {}) => simulateSms(context, validate(smsEvent, event, 'event')),
      call: async (event = {}) => simulateCall(context, validate(callEvent, event, 'event')),
      transcript: async (event = {}) => simulateTranscript(context, validate(transcriptEvent, event, 'event')),
    },
    faults: (...list) => faults.set(validate(faultList, list, 'faults')),
    requests: (limit) => history.requests.list(limit),
    sends: (limit) => sendRecords(store, history, limit),
    deliveries: (limit) => history.deliveries.list(limit),
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** An existing journal's origin overrides the options. */
function openState(options: SandboxOptions, now: () => Date): { origin: Origin; journal: Journal | null } {
  const { seed = 1, calls = 400, threads = 60, dataDir } = options;
  const fresh = { seed, calls, threads, startedAt: now().getTime() };
  if (dataDir === undefined) return { origin: fresh, journal: null };
  const journal = openJournal(join(dataDir, 'sandbox.jsonl'), fresh);
  return { origin: journal.origin, journal };
}
