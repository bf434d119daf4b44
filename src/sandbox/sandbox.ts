import { join } from 'node:path';
import { assumptions } from './assumptions.ts';
import type { Context } from './context.ts';
import { scopes } from './entities/access.ts';
import { defaultSettings } from './entities/settings.ts';
import type { ScriptName } from './faults/courses.ts';
import { createFaults } from './faults/faults.ts';
import { createScripts } from './faults/scripts.ts';
import { type FaultInput, faultSpec } from './faults/spec.ts';
import { type SubscriptionFaultInput, strikeSubscription, subscriptionFault } from './faults/subscriptions.ts';
import { createHistory, type DeliveryRecord, type RequestRecord } from './history.ts';
import { createServer } from './http/server.ts';
import { validate } from './http/validation.ts';
import { createRandom, deriveSeed } from './random.ts';
import { createLinks } from './resources/links.ts';
import { type SendRecord, sendRecords } from './resources/sends.ts';
import { rolesOf } from './seed/roles.ts';
import { directoryOf, seedStore } from './seed/seed.ts';
import { loadOptOuts } from './sending/opt-outs.ts';
import { type Journal, type Origin, openJournal } from './store/journal.ts';
import { createStore, type Store } from './store/store.ts';
import { createTimers } from './timers.ts';
import { announceTranscripts, type CallEvent, type CallMade, callEvent, provokeCall } from './traffic/calls.ts';
import { provokeSms, type SmsEvent, type SmsMade, smsEvent } from './traffic/texts.ts';
import { startTraffic } from './traffic/traffic.ts';
import {
  provokeTranscript,
  type TranscriptEvent,
  type TranscriptMade,
  transcriptEvent,
} from './traffic/transcripts.ts';
import { createDispatcher } from './webhooks/dispatcher.ts';

export interface SandboxOptions {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Decides everything that is invented. Default 1. */
  seed?: number;
  /** Calls of the history: of fourteen days, or of a day for each thousand when there are more. Default 400. */
  calls?: number;
  /** Text conversations that exist at the start. Default 60. */
  threads?: number;
  /** Lets texts and calls happen by themselves, about one every 1.5 s or as told. Default false. */
  traffic?: boolean | { everyMs: number };
  /** Where the state survives a restart; without it, it lives in memory. */
  dataDir?: string;
  /** Lets programs on this machine log in without TLS, which 5.3 does not allow. Default false. */
  plainLoopbackRedirects?: boolean;
  now?: () => Date;
  /** Waiting time before each further try of a delivery. */
  deliveryRetriesMs?: readonly number[];
}

export interface Sandbox {
  /** Base address; the API lies under `/api/public/v1`. */
  readonly url: string;
  /** A key with all scopes. */
  readonly apiKey: string;
  /** Back to the seeded state: no subscriptions, no further keys, no faults, no histories. */
  reset(): Promise<void>;
  emit: {
    sms(event?: SmsEvent): Promise<SmsMade>;
    call(event?: CallEvent): Promise<CallMade>;
    transcript(event?: TranscriptEvent): Promise<TranscriptMade>;
  };
  /** Replaces all faults; `{}` ends them. */
  faults(spec: FaultInput): void;
  /** Begins a course of faults, which ends by itself after so many seconds; null ends the one that runs. */
  script(name: ScriptName | null, seconds?: number): void;
  /** Lets the service change a subscription by itself. */
  strikeSubscription(id: number, fault: SubscriptionFaultInput): void;
  requests(limit?: number): RequestRecord[];
  /** Every POST of a send that was answered, and every charge. */
  sends(limit?: number): SendRecord[];
  deliveries(limit?: number): DeliveryRecord[];
  /** Stops traffic, cuts deliveries under way and connections, and listens no more. */
  close(): Promise<void>;
}

/** Where `trunkline start` and `trunkline sandbox` look for it first. */
export const defaultSandboxPort = 4010;
const apiKey = 'sandbox-key';
const usualIntervalMs = 1_500;

/** Starts a runnable implementation of the service. Rejects when the port or the data folder cannot be had. */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { now = () => new Date(), traffic = false, plainLoopbackRedirects = false } = options;
  const { origin, journal } = openState(options, now);
  const directory = directoryOf(origin);
  const store = createStore((change) => journal?.append(change));
  fill(store);
  for (const change of journal?.changes ?? []) store.apply(change);

  let url = '';
  const history = createHistory();
  const faults = createFaults(origin.seed);
  const timers = createTimers();
  // A restart with more in store goes on with another story instead of telling the last one again.
  const liveSeed = () => deriveSeed(origin.seed, `live ${store.messages.highestKey()} ${store.calls.size()}`);
  const random = createRandom(liveSeed());
  const links = createLinks(() => url, origin.seed);
  const timing = {
    timeoutMs: assumptions.deliveryTimeoutMs,
    retriesMs: options.deliveryRetriesMs ?? assumptions.deliveryRetriesMs,
  };
  const dispatcher = createDispatcher({ store, faults, history, timers, now, timing });
  const { announce, pending: pendingDeliveries } = dispatcher;
  const scripts = createScripts({ store, faults, timers, now });
  const parts = { store, directory, links, faults, scripts, history, timers, random, now };
  const context: Context = { ...parts, announce, pendingDeliveries, reset };

  function fill(target: Store): void {
    seedStore(target, origin, directory);
    loadOptOuts(target, target.messages.values());
    target.keys.load({ key: apiKey, name: 'default', scopes: [...scopes] });
    target.settings.load({ ...defaultSettings, plainLoopbackRedirects });
    for (const role of rolesOf(directory.users)) target.roles.load(role);
  }

  function begin(): void {
    const at = now().getTime();
    for (const call of store.calls.between(Math.floor(at / 1000) - 86_400, Math.floor(at / 1000))) {
      if (call.transcriptsAt === null || call.transcriptsAt <= at) continue;
      timers.after(call.transcriptsAt - at, () => announceTranscripts(context, call.id));
    }
    if (traffic !== false) startTraffic(context, traffic === true ? usualIntervalMs : traffic.everyMs);
  }

  async function reset(): Promise<void> {
    timers.clear();
    await dispatcher.cut();
    journal?.restart();
    store.clear();
    fill(store);
    faults.set({});
    history.clear();
    random.reseed(liveSeed());
    begin();
  }

  let closing: Promise<void> | undefined;
  async function shutDown(): Promise<void> {
    timers.clear();
    await server.close();
    // What was still answered in the meantime may have set timers again.
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
  begin();

  return {
    url,
    apiKey,
    reset,
    emit: {
      sms: async (event = {}) => provokeSms(context, validate(smsEvent, event, 'event')),
      call: async (event = {}) => provokeCall(context, validate(callEvent, event, 'event')),
      transcript: async (event = {}) => provokeTranscript(context, validate(transcriptEvent, event, 'event')),
    },
    faults: (spec) => void faults.set(validate(faultSpec, spec, 'faults')),
    script: (name, seconds) => (name === null ? scripts.stop() : void scripts.start(name, seconds)),
    strikeSubscription: (id, fault) =>
      void strikeSubscription(context, id, validate(subscriptionFault, fault, 'fault')),
    requests: (limit) => history.requests.list(limit),
    sends: (limit) => sendRecords(store, history, limit),
    deliveries: (limit) => history.deliveries.list(limit),
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** A journal's origin wins over the options: the state that was there goes on. */
function openState(options: SandboxOptions, now: () => Date): { origin: Origin; journal: Journal | null } {
  const { seed = 1, calls = 400, threads = 60, dataDir } = options;
  const fresh = { seed, calls, threads, startedAt: now().getTime() };
  if (dataDir === undefined) return { origin: fresh, journal: null };
  const journal = openJournal(join(dataDir, 'sandbox.jsonl'), fresh);
  return { origin: journal.origin, journal };
}
