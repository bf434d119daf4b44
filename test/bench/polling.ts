import { setTimeout as sleep } from 'node:timers/promises';
import { callsOf, textsOf } from './lag.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { hookOf, startSandbox } from './rig/daemon.ts';
import { startMirrors, untilQuiet } from './rig/mirror.ts';
import type { Rig } from './rig/rig.ts';
import { controlService } from './rig/service.ts';
import { watchRows } from './rig/sight.ts';
import { quantile, spreadOf } from './spread.ts';

const knownThreads = 60;
/** An account with five texts and five ended calls a minute. */
const everyMs = { texts: 12_000, 'ended calls': 12_000 };
const limits = { texts: 90, 'ended calls': 60 };
const maxPerMinute = 120;
const minuteMs = 60_000;

/** Without webhooks: from a text in one of 60 known threads, and from the end of a call, until another connection sees the row. */
export async function polling(rig: Rig): Promise<Finding[]> {
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startSandbox());
  const service = stack.use(controlService(sandbox.ready));
  const [mirror] = await startMirrors(rig, 'polling', sandbox.ready, stack, ['postgres']);
  if (!mirror) throw new Error('No mirror was started');
  const { client } = mirror;
  const texts = textsOf(service, await service.lines(), knownThreads);
  for (let thread = 0; thread < knownThreads; thread += 1) {
    await service.deliver(hookOf(mirror.web, texts.type), (await texts.happen()).body);
  }
  await untilQuiet(mirror);
  const began = Date.now();
  const until = began + (rig.seconds ?? 300) * 1_000;

  async function lagsOf({ name, sight: sql, happen }: ReturnType<typeof textsOf>): Promise<number[]> {
    const sight = watchRows(client, sql, 50);
    const lags: Promise<number>[] = [];
    while (Date.now() < until) {
      const { key } = await happen();
      const sent = performance.now();
      lags.push(sight.of(key).then((seen) => (seen - sent) / 1_000));
      await sleep(Math.random() * 2 * everyMs[name]);
    }
    return Promise.all(lags);
  }

  const kinds = [texts, callsOf(service)];
  const lags = await Promise.all(kinds.map(lagsOf));
  const ends = (await service.requestTimes()).filter((at) => at >= began + minuteMs && at < until);
  const perMinute = ends.map((end) => ends.filter((at) => at > end - minuteMs && at <= end).length);
  const most = spreadOf([Math.max(0, ...perMinute)]);
  return [
    ...kinds.map(({ name }, at): Finding => {
      const seconds = lags[at] ?? [];
      const p95 = spreadOf([quantile(seconds, 0.95)]);
      return {
        bench: 'polling',
        what: `${name}, p95 of ${seconds.length}`,
        subject: quantity('happened to visible', 's', p95),
        goal: atMost(p95, limits[name], ' s'),
        limits: `p50 ${quantile(seconds, 0.5).toFixed(1)} s`,
      };
    }),
    {
      bench: 'polling',
      what: 'requests in the busiest minute',
      subject: quantity('asked', 'requests', most),
      goal: atMost(most, maxPerMinute),
    },
  ];
}
