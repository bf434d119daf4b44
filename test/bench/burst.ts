import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type Finding, quantity } from './report.ts';
import { hookOf, startSandbox } from './rig/daemon.ts';
import { type Mirror, startMirrors, until, untilQuiet } from './rig/mirror.ts';
import type { Rig } from './rig/rig.ts';
import { controlService, type ServiceControl, textPayload } from './rig/service.ts';
import { spreadOf } from './spread.ts';

const deliveries = 1_000;
const spanMs = 950;

/** What a burst led to. */
interface Burst {
  /** Reads of the thread that began at its newest message, and all pages that they took. */
  readonly reads: number;
  readonly pages: number;
  /** From the first delivery sent to the last one answered, in milliseconds. */
  readonly tookMs: number;
  /** From the last answer until the last message was there. */
  readonly lastAfterMs: number;
  readonly mirrored: number;
}

/** A thousand texts of one thread within a second, each delivered when it is there: how often is the thread read? */
export async function burst(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 3;
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startSandbox());
  const service = stack.use(controlService(sandbox.ready));
  const mirrors = await startMirrors(rig, 'burst', sandbox.ready, stack);
  const [line = ''] = await service.lines();

  const measured = new Map<Mirror, Burst[]>(mirrors.map((mirror) => [mirror, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, mirror] of mirrors.entries()) {
      const found = await oneBurst(service, mirror, line, `1718555${String(1_000 + round * mirrors.length + index)}`);
      // The first round warms up.
      if (round > 0) measured.get(mirror)?.push(found);
    }
    if (round > 0) rig.progress(`round ${round} of ${rounds}`);
  }

  return [...measured].map(([{ backend }, bursts]) => {
    const of = (pick: (each: Burst) => number) => spreadOf(bursts.map(pick));
    const reads = of(({ reads }) => reads);
    const mirrored = of(({ mirrored }) => mirrored);
    const goal = atMost(reads, 10, ' reads');
    return {
      bench: 'burst',
      what: `${deliveries} deliveries in ${Math.round(of(({ tookMs }) => tookMs).median)} ms for one thread, queue in ${backend}`,
      baseline: quantity('read for each', 'reads', spreadOf([deliveries])),
      subject: quantity('read', 'reads', reads),
      ratio: of(({ reads }) => reads / deliveries),
      goal: { ...goal, holds: goal.holds && mirrored.lowest === deliveries },
      limits: `${of(({ pages }) => pages).median} pages; ${mirrored.lowest} messages mirrored; the last was there ${Math.round(of(({ lastAfterMs }) => lastAfterMs).median)} ms after the last answer`,
    };
  });
}

async function oneBurst(service: ServiceControl, mirror: Mirror, line: string, number: string): Promise<Burst> {
  const hook = hookOf(mirror.web, 'AccountSMS');
  const path = `/sms/conversations/${line}/${number}`;
  const began = performance.now();
  const sent: Promise<number>[] = [];
  for (let at = 0; at < deliveries; at += 1) {
    const wait = began + (at * spanMs) / deliveries - performance.now();
    if (wait >= 1) await sleep(wait);
    sent.push(
      service.text(line, number).then(async ({ id }) => {
        await service.deliver(hook, textPayload(id, line, number));
        return id;
      }),
    );
  }
  const last = Math.max(...(await Promise.all(sent)));
  const answered = performance.now();
  await until(async () => (await mirror.client.query(messages, [line, number, last])).rowCount !== 0, 2);
  const lastAfterMs = performance.now() - answered;
  await untilQuiet(mirror);
  const pages = (await service.reads()).filter((read) => read.includes(path));
  const { rowCount } = await mirror.client.query(messages, [line, number, null]);
  return {
    reads: pages.filter((page) => !/[?&]offset=[1-9]/.test(page)).length,
    pages: pages.length,
    tookMs: answered - began,
    lastAfterMs,
    mirrored: rowCount ?? 0,
  };
}

const messages = `select from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
  where c.line = $1 and c.number = $2 and m.message_id = coalesce($3, m.message_id)`;
