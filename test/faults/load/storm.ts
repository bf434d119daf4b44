import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from '../deployment/deployment.ts';
import type { Random } from '../random.ts';
import type { ThreadName } from './keys.ts';
import { type DeliveredType, deliveryKey } from './keys.ts';
import type { Load } from './load.ts';
import { createSender, isAccepted, type Sender } from './sender.ts';
import { received, textMark } from './traffic.ts';

/** Very many deliveries of few things, all of them ours to make: what the service would send on its busiest day. */
export interface Storm extends Pick<Load, 'threads' | 'callIds' | 'accepted'> {
  readonly sender: Sender;
  /** Deliveries that got through so far. */
  readonly delivered: number;
  /** Sends so many deliveries, each as often as it takes; waits while `mayGoOn` says no. */
  run(deliveries: number, mayGoOn?: () => boolean): Promise<void>;
}

export interface StormShape {
  readonly threads: number;
  readonly calls: number;
  /** Deliveries on their way at once. Default 24. */
  readonly lanes?: number;
}

/** One delivery in ten tells of a text that is new; the others repeat what was told. */
const shareOfNews = 0.1;

export async function startStorm({ service, hooks }: Deployment, random: Random, shape: StormShape): Promise<Storm> {
  const sender = createSender((type: DeliveredType) => hooks(type), random);
  const [line] = await service.read('/sms/lines');
  const numbers = Array.from({ length: shape.threads }, (_, at) => `1917556${String(1_000 + at)}`);
  const threads = new Map<string, ThreadName>();
  const told: { readonly type: DeliveredType; readonly body: string }[] = [];
  const callIds: string[] = [];
  let delivered = 0;

  async function news(): Promise<(typeof told)[number]> {
    const text = `${textMark} ${told.length}: is the boiler still leaking?`;
    const made = await service.sms({ line: String(line?.number), number: random.pick(numbers), text, announce: false });
    threads.set(made.number, made);
    const event = { type: 'AccountSMS' as const, body: JSON.stringify(received(made, text)) };
    told.push(event);
    return event;
  }

  for (let at = 0; at < shape.calls; at += 1) {
    const { id } = await service.call({ announce: false, recordingAfterMs: 0, transcriptAfterMs: null });
    callIds.push(id);
    told.push({
      type: 'AccountEndedCalls',
      body: JSON.stringify({ callId: id, webhookType: 'AccountEndedCalls' }),
    });
  }
  const everyCall = [...told];

  return {
    sender,
    callIds,
    get threads() {
      return [...threads.values()];
    },
    get delivered() {
      return delivered;
    },
    async run(deliveries, mayGoOn = () => true) {
      let left = deliveries;
      async function lane(): Promise<void> {
        while (left > 0) {
          if (!mayGoOn()) {
            await sleep(10);
            continue;
          }
          left -= 1;
          const first = everyCall.pop();
          const event = first ?? (random.next() < shareOfNews ? await news() : random.pick(told));
          await sender.insist(event.type, event.body);
          delivered += 1;
        }
      }
      await Promise.all(Array.from({ length: shape.lanes ?? 24 }, lane));
    },
    accepted: async () => sender.sent.filter(isAccepted).map(({ type, body }) => deliveryKey(type, body)),
  };
}
