import { describe, test } from 'vitest';
import { backends } from '../../../stores/backends.ts';
import { deploy } from '../../deployment/deployment.ts';
import { createProgress, report, sized } from '../../figures.ts';
import type { ThreadName } from '../../load/keys.ts';
import { deliveryKey } from '../../load/keys.ts';
import { createSender, isAccepted } from '../../load/sender.ts';
import { received, textMark } from '../../load/traffic.ts';
import { expectNothingLost } from '../../oracle/oracle.ts';
import { createRandom } from '../../random.ts';

const permutations = sized(10_000);
const lanes = 16;

describe.each(backends)('on %s', (backend) => {
  test('mirrors every permutation of deliveries, and of their duplicates, the same', async ({ onTestFinished }) => {
    const began = performance.now();
    const progress = createProgress(`permutations on ${backend}`);
    const random = createRandom(`permutations ${backend}`);
    const deployment = await deploy({ backend }, onTestFinished);
    const { service } = deployment;
    const [line] = await service.read('/sms/lines');
    const sender = createSender(deployment.hooks, random);
    const threads: ThreadName[] = [];
    const callIds: string[] = [];
    let next = 0;

    /** Three texts of one thread and a call, told in any order, each of them once to three times. */
    async function permute(at: number): Promise<void> {
      const number = `1${2_120_000_000 + at}`;
      const texts = ['one', 'two', 'three'].map((word) => `${textMark} ${word} of ${at}`);
      const bodies: ['AccountSMS' | 'AccountEndedCalls', string][] = [];
      for (const text of texts) {
        const made = await service.sms({ line: String(line?.number), number, text, announce: false });
        bodies.push(['AccountSMS', JSON.stringify(received(made, text))]);
        threads[at] = made;
      }
      if (at % 10 === 0) {
        const { id } = await service.call({ number, announce: false, recordingAfterMs: 0, transcriptAfterMs: null });
        callIds.push(id);
        bodies.push(['AccountEndedCalls', JSON.stringify({ callId: id, webhookType: 'AccountEndedCalls' })]);
      }
      const copies = bodies.flatMap((each) => Array.from({ length: random.between(1, 3) }, () => each));
      const order = copies.map((each) => ({ each, at: random.next() })).sort((a, b) => a.at - b.at);
      for (const { each } of order) await sender.insist(...each);
    }

    async function lane(): Promise<void> {
      while (next < permutations) {
        const at = next;
        next += 1;
        await permute(at);
        progress(() => `${next} of ${permutations}`);
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane));
    const accepted = sender.sent.filter(isAccepted).map(({ type, body }) => deliveryKey(type, body));
    await expectNothingLost(deployment, { threads, callIds, accepted: async () => accepted });
    report('permutations', backend, `${permutations} permutations, ${accepted.length} deliveries`, began);
  }, 3_600_000);
});
