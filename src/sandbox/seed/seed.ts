import { accountTimeZone, type Call } from '../account.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import type { Origin } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { rfc3339, zoneOffset } from '../time.ts';
import { finalizeCall, generateCall, outsideNumber, repeatWindowSeconds } from './call-history.ts';
import { type Customer, type Directory, generateDirectory } from './directory.ts';
import { generateThreads } from './text-history.ts';

const dayMs = 86_400_000;
/** Weights of a weekday's calls by local hour. */
const hours = [1, 0, 0, 0, 0, 1, 3, 12, 55, 95, 100, 92, 70, 74, 90, 88, 76, 48, 18, 9, 6, 4, 2, 1];
const weekendShare = 0.12;

const callsPerDay = 1_000;

/** Two weeks, or more days for more calls, so that the company can answer them. */
function historyDays(calls: number): number {
  return Math.max(14, Math.ceil(calls / callsPerDay));
}

/** Call starts (unix seconds) in the days before `end`, distributed over business hours, oldest first. */
function drawStarts(random: Random, count: number, end: number, days: number, timeZone: string): number[] {
  const midnights = Array.from({ length: days + 1 }, (_, back) => {
    const moment = end - back * dayMs;
    const wall = moment + zoneOffset(moment, timeZone);
    return Math.floor(wall / dayMs) * dayMs - zoneOffset(moment, timeZone);
  });
  // Cumulative weights, since there may be hundreds of days.
  let weight = 0;
  const dayEnds = midnights.map((midnight) => {
    const weekday = new Date(midnight + zoneOffset(midnight, timeZone)).getUTCDay();
    weight += weekday === 0 || weekday === 6 ? weekendShare : 1;
    return weight;
  });

  const first = end - days * dayMs;
  const moments: number[] = [];
  while (moments.length < count) {
    const drawn = random.next() * weight;
    const midnight = midnights[dayEnds.findIndex((dayEnd) => drawn < dayEnd)] as number;
    const moment = midnight + random.weighted(hours) * 3_600_000 + random.int(0, 3_599_000);
    if (moment >= first && moment < end) moments.push(Math.floor(moment / 1000));
  }
  return moments.sort((one, other) => one - other);
}

/** The directory of an origin. The same origin always gives the same directory. */
export function directoryOf(origin: Origin): Directory {
  const customers = Math.min(20_000, Math.max(80, Math.ceil(Math.max(origin.calls / 5, origin.threads))));
  return generateDirectory(createRandom(deriveSeed(origin.seed, 'directory')), customers);
}

/** Fills an empty store with the history before the origin's start. The journal doesn't record it. */
export function seedStore(store: Store, origin: Origin, directory: Directory): void {
  for (const user of directory.users) store.users.load(user);
  for (const line of directory.lines) store.lines.load(line);
  for (const call of generateHistory(store, origin, directory)) store.calls.load(call);
  const random = createRandom(deriveSeed(origin.seed, 'threads'));
  const firstId = store.messages.nextId();
  for (const message of generateThreads({ random, directory }, origin.threads, origin.startedAt, firstId)) {
    store.messages.load(message);
    const { line, number, blockReason: reason, sentAt } = message;
    // A blocked text needs an earlier block of its recipient.
    if (reason !== undefined) store.blocked.load({ line, number, reason, blockedAt: rfc3339(sentAt - 86_400_000) });
  }
}

function generateHistory(store: Store, origin: Origin, directory: Directory): Call[] {
  const random = createRandom(deriveSeed(origin.seed, 'calls'));
  // No calls in the last hour, so that all of them have ended by the start.
  const end = origin.startedAt - 3_600_000;
  const moments = drawStarts(random, origin.calls, end, historyDays(origin.calls), accountTimeZone);
  const customerOf = new Map<string, Customer>(directory.customers.map((customer) => [customer.number, customer]));
  const waiting: { call: Call; notBefore: number }[] = [];
  const lastCalls = new Map<string, number[]>();

  return moments.map((start) => {
    const returned = takeDueCallBack(waiting, start);
    const customer = returned && customerOf.get(returned.caller.number);
    const draft = customer
      ? generateCall({ random, directory }, { direction: 'outbound', status: 'answered', customer })
      : generateCall({ random, directory }, { status: random.chance(0.006) ? 'unknown' : undefined });

    const number = draft.direction === 'inbound' ? outsideNumber(draft) : '';
    const recent = (lastCalls.get(number) ?? []).filter((moment) => moment > start - repeatWindowSeconds);
    const call = finalizeCall(draft, start, store.calls.reserve(draft.legs.length), number === '' ? 0 : recent.length);
    if (number !== '') lastCalls.set(number, [...recent, start]);
    if (returned !== undefined) returned.calledBack = call.id;
    if (call.abandoned && number !== '' && random.chance(0.55)) {
      waiting.push({ call, notBefore: start + call.durationSeconds + random.int(300, 7200) });
    }
    return withArtefacts(call);
  });
}

/** Recordings and transcripts were ready shortly after the call. */
function withArtefacts(call: Call): Call {
  if (!call.recorded) return call;
  const hangUp = (call.start + call.durationSeconds) * 1000;
  call.recordingsAt = hangUp + 40_000;
  call.transcriptsAt = hangUp + 150_000;
  return call;
}

function takeDueCallBack(waiting: { call: Call; notBefore: number }[], start: number): Call | undefined {
  const at = waiting.findIndex(({ notBefore }) => notBefore <= start);
  if (at === -1) return undefined;
  const due = waiting.splice(at, 1)[0];
  if (due === undefined || start > due.call.start + repeatWindowSeconds) return undefined;
  return due.call;
}
