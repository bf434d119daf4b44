import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { threadKey } from '../../../src/shared/thread.ts';
import { conditionTimeoutMs } from '../../timeouts.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Resource } from '../deployment/service.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import type { Random } from '../random.ts';
import { type DeliveredType, deliveryKey, type ThreadName, tally } from './keys.ts';
import { createSender, isAccepted, type Sender, type Sent } from './sender.ts';
import { type Happening, happen, type Scene } from './traffic.ts';

/** Texts and calls that happen at the service while things break, and what was promised about them. */
export interface Load {
  readonly sender: Sender;
  readonly threads: readonly ThreadName[];
  readonly callIds: readonly string[];
  /** Resolves when so many more things have happened. */
  goesOn(events: number): Promise<void>;
  /** Resolves when so many more of our own deliveries were answered 2xx. */
  isAccepted(deliveries: number): Promise<void>;
  /** Resolves when so many more of our own deliveries were not. */
  isRefused(deliveries: number): Promise<void>;
  /** Our own deliveries that began, and were answered or given up, while something lasted. */
  sentDuring(lasts: () => Promise<void>): Promise<Sent[]>;
  /** Ends it, and repeats every delivery that did not get through until it does. */
  finish(): Promise<void>;
  /** The key of each delivery that was answered 2xx, as often as it was, but for those that a fault had changed. */
  accepted(): Promise<string[]>;
}

/** Milliseconds between two happenings. */
export interface Pace {
  readonly from: number;
  readonly to: number;
}

const busy: Pace = { from: 5, to: 30 };
/** For campaigns of many minutes: all that happens in them is compared at their end, and fits into the service's history. */
export const steady: Pace = { from: 60, to: 180 };
const limit = { timeout: conditionTimeoutMs, interval: 20 };
/** Milliseconds that one of many events may take, where campaigns share the machine. */
const slowestMs = 200;
/** Longer than transcripts and receipts take. */
const quietMs = 3_000;

/** `onOpen` is told how to end the load, whatever becomes of its test. */
export async function startLoad(
  deployment: Deployment,
  random: Random,
  onOpen: OnOpen,
  pace: Pace = busy,
): Promise<Load> {
  const { service } = deployment;
  const lines = await service.read<Resource[]>('/sms/lines');
  const scene: Scene = { service, random, lines: lines.slice(0, 3).map(({ number }) => String(number)) };
  const sender = createSender((type: DeliveredType) => deployment.hooks(type), random);
  const happenings: Happening[] = [];
  const sending = new Set<Promise<unknown>>();

  async function next(): Promise<void> {
    const happening = await happen(scene, happenings.length);
    happenings.push(happening);
    for (const { type, body } of happening.toDeliver) {
      const delivery = sender.send(type, body).finally(() => sending.delete(delivery));
      sending.add(delivery);
    }
  }

  const stopping = new AbortController();
  const happens = (async () => {
    while (!stopping.signal.aborted) {
      await next();
      await sleep(random.between(pace.from, pace.to), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  happens.catch(() => undefined);
  const stop = async () => {
    stopping.abort();
    await happens;
    await Promise.all(sending);
  };
  onOpen(() => stop().catch(() => undefined));

  function more(count: number, counted: () => number): Promise<void> {
    const from = counted();
    const timeout = Math.max(limit.timeout, count * slowestMs);
    return vi.waitUntil(() => counted() >= from + count, { ...limit, timeout }).then(() => undefined);
  }
  const acceptedOnes = () => sender.sent.filter(isAccepted);
  const threads = () => {
    const named = happenings.flatMap(({ thread }) => (thread ? [thread] : []));
    return [...new Map(named.map((thread) => [threadKey(thread), thread])).values()];
  };
  const callIds = () => happenings.flatMap(({ callId }) => (callId ? [callId] : []));

  /**
   * The service speaks for itself some time after the fact: of transcripts and receipts. What a fault changed, or kept
   * from being told, is not waited for: only until nothing more comes.
   */
  async function everythingAnnounced(): Promise<void> {
    const expected = tally(happenings.flatMap(({ announced }) => announced));
    let count = -1;
    let quietSince = performance.now();
    let untold: string[] = [];
    const isOver = async () => {
      const deliveries = await service.deliveries();
      if (deliveries.length !== count || deliveries.some(({ outcome }) => outcome === 'pending')) {
        count = deliveries.length;
        quietSince = performance.now();
      }
      const told = tally(deliveries.map(({ type, body }) => deliveryKey(type, body)));
      untold = [...expected].filter(([key, times]) => (told.get(key) ?? 0) < times).map(([key]) => key);
      const isQuiet = performance.now() - quietSince > quietMs;
      return untold.length === 0 || (isQuiet && deliveries.some(({ fault }) => fault));
    };
    await vi.waitUntil(isOver, limit).catch((cause: unknown) => {
      const some = untold.slice(0, 5).join(', ');
      throw new Error(`the service did not tell of ${untold.length} facts, among ${count} deliveries: ${some}`, {
        cause,
      });
    });
  }

  async function repeatRefused(): Promise<void> {
    const own = sender.sent.filter((each) => !isAccepted(each));
    const fromService = (await service.deliveries()).filter(({ outcome }) => outcome !== 'delivered');
    for (const { type, body } of [...own, ...fromService]) await sender.insist(type as DeliveredType, body);
  }

  return {
    sender,
    get threads() {
      return threads();
    },
    get callIds() {
      return callIds();
    },
    goesOn: (events) => more(events, () => happenings.length),
    isAccepted: (deliveries) => more(deliveries, () => acceptedOnes().length),
    isRefused: (deliveries) => more(deliveries, () => sender.sent.length - acceptedOnes().length),
    async sentDuring(lasts) {
      const from = performance.now();
      await lasts();
      return sender.sent.filter(({ began }) => began >= from);
    },
    async finish() {
      await stop();
      await everythingAnnounced();
      await repeatRefused();
    },
    async accepted() {
      const whole = (await service.deliveries()).filter(({ fault }) => fault === undefined);
      const fromService = whole.flatMap(({ type, body, attempts }) =>
        attempts.filter(({ status }) => isAccepted({ status: status ?? undefined })).map(() => ({ type, body })),
      );
      return [...acceptedOnes(), ...fromService].map(({ type, body }) => deliveryKey(type, body));
    },
  };
}
