import { setTimeout as sleep } from 'node:timers/promises';
import { draw } from '../draws.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { hookOf, startSandbox } from './rig/daemon.ts';
import { type Mirror, startMirrors, untilQuiet } from './rig/mirror.ts';
import type { Rig } from './rig/rig.ts';
import { callPayload, controlService, type ServiceControl, textPayload } from './rig/service.ts';
import { watchRows } from './rig/sight.ts';
import { quantile, spreadOf } from './spread.ts';

const perSecond = 50;
const threads = 1_000;
const tripsAlone = 100;

/** Before it is measured, a world is at work for so many times the length of a round: two minutes, unless one asks for less. */
const roundsOfWarmUp = 12;
const warmUpSeconds = 2;

const limits = {
  redis: { p50: 20, p99: 80 },
  postgres: { p50: 30, p99: 110 },
} as const;

/** Makes something happen at the service; answers with what to deliver, and where and as what the row appears. */
interface Kind {
  readonly name: 'texts' | 'ended calls';
  readonly type: 'AccountSMS' | 'AccountEndedCalls';
  /** Answers with the awaited keys that are there. */
  readonly sight: string;
  happen(): Promise<{ body: object; key: string; path: string }>;
}

/**
 * From the send of a delivery until another connection sees the row, at 50 deliveries a second that come as they like
 * (exponential gaps). The row is looked for about once a millisecond, so each figure is at most that much too long; the
 * API's own round trip, measured alone before the round, is taken off. The worlds are minutes old: what their loops do then is in it.
 */
export async function lag(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 3;
  const seconds = rig.seconds ?? 10;
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startSandbox());
  const service = stack.use(controlService(sandbox.ready));
  const mirrors = await startMirrors(rig, 'lag', sandbox.ready, stack);
  const lines = await service.lines();
  const kinds = [textsOf(service, lines), callsOf(service)];

  const measured = new Map<string, { trips: number[]; p50: number[]; p99: number[]; questions: number[] }>();
  await warmUp(service, mirrors, kinds, roundsOfWarmUp * seconds);
  rig.progress('the worlds are warm');
  for (let round = 1; round <= rounds; round += 1) {
    for (const kind of kinds) {
      for (const mirror of mirrors) {
        const trip = await tripAlone(service, kind);
        const { lags, questions } = await oneRound(service, mirror, kind, seconds);
        await untilQuiet(mirror);
        const held = measured.get(`${kind.name} ${mirror.backend}`) ?? { trips: [], p50: [], p99: [], questions: [] };
        measured.set(`${kind.name} ${mirror.backend}`, held);
        held.trips.push(trip);
        held.questions.push(quantile(questions, 0.5));
        held.p50.push(quantile(lags, 0.5) - trip);
        held.p99.push(quantile(lags, 0.99) - trip);
      }
    }
    rig.progress(`round ${round} of ${rounds}`);
  }

  return mirrors.flatMap(({ backend }) =>
    kinds.flatMap(({ name }) => {
      const found = measured.get(`${name} ${backend}`);
      const { trips, p50, p99, questions } = found ?? { trips: [], p50: [], p99: [], questions: [] };
      return [
        { which: 'p50', values: p50, limit: limits[backend].p50 },
        { which: 'p99', values: p99, limit: limits[backend].p99 },
      ].map(({ which, values, limit }): Finding => {
        const spread = spreadOf(values);
        return {
          bench: 'lag',
          what: `${name}, ${which}, queue in ${backend}`,
          baseline: quantity('API alone', 'ms', spreadOf(trips)),
          subject: quantity('sent to visible, less that', 'ms', spread),
          goal: atMost(spread, limit, ' ms'),
          limits: `one query for the rows takes ${spreadOf(questions).median.toFixed(1)} ms`,
        };
      });
    }),
  );
}

/** Keeps the worlds at work in turn, until all of them are so old. */
async function warmUp(
  service: ServiceControl,
  mirrors: readonly Mirror[],
  kinds: readonly Kind[],
  seconds: number,
): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  do {
    for (const kind of kinds) {
      for (const mirror of mirrors) {
        await oneRound(service, mirror, kind, warmUpSeconds);
        await untilQuiet(mirror);
      }
    }
  } while (performance.now() < until);
}

/** Delivers at a rate, and tells how long each took to be visible, in the order in which they were sent. */
async function oneRound(service: ServiceControl, mirror: Mirror, kind: Kind, seconds: number) {
  const sight = watchRows(mirror.client, kind.sight);
  const lags: Promise<number>[] = [];
  const hook = hookOf(mirror.web, kind.type);
  const began = performance.now();
  let at = began;
  while (at < began + seconds * 1_000) {
    at += (-Math.log(1 - draw()) * 1_000) / perSecond;
    const { body, key } = await kind.happen();
    await sleep(Math.max(0, at - performance.now()));
    const sent = performance.now();
    const seen = sight.of(key);
    lags.push(
      service
        .deliver(hook, body)
        .then(() => seen)
        .then((when) => when - sent),
    );
  }
  return { lags: await Promise.all(lags), questions: sight.questions };
}

async function tripAlone(service: ServiceControl, kind: Kind): Promise<number> {
  const trips: number[] = [];
  const { path } = await kind.happen();
  for (let trip = 0; trip < tripsAlone; trip += 1) {
    trips.push(await service.roundTrip(path));
    await sleep(5);
  }
  return quantile(trips, 0.5);
}

function textsOf(service: ServiceControl, lines: readonly string[]): Kind {
  let made = 0;
  return {
    name: 'texts',
    type: 'AccountSMS',
    sight: `select key from unnest($1::text[]) as a (key)
      join warehouse.sms_conversations c on c.line = split_part(key, '/', 1) and c.number = split_part(key, '/', 2)
        and c.participants_key = ''
      join warehouse.sms_messages m on m.conversation_id = c.conversation_id
        and m.message_id = split_part(key, '/', 3)::bigint`,
    async happen() {
      made += 1;
      const line = lines[made % lines.length] ?? '';
      const number = `1718${5_550_000 + (made % threads)}`;
      const { id } = await service.text(line, number);
      return {
        body: textPayload(id, line, number),
        key: `${line}/${number}/${id}`,
        path: `/sms/conversations/${line}/${number}?limit=100&offset=0`,
      };
    },
  };
}

function callsOf(service: ServiceControl): Kind {
  return {
    name: 'ended calls',
    type: 'AccountEndedCalls',
    sight: 'select call_id as key from warehouse.calls where call_id = any($1)',
    async happen() {
      const { id } = await service.call();
      return { body: callPayload(id), key: id, path: `/calls/${id}` };
    },
  };
}
