import type { Transaction } from '../../db/database.ts';
import {
  areCallersStale,
  rebuildAgentMonth,
  rebuildCallDay,
  rebuildCallers,
  rebuildHours,
  rebuildIntervals,
  rebuildVisits,
} from './calls.ts';
import { type Day, daysNamed, daysOf, inParts, quarterOf } from './parts.ts';
import { rebuildCallbackDay, rebuildReturns } from './returns.ts';
import { rebuildResponseDay, rebuildTextDay, rebuildTurns } from './texts.ts';
import { rebuildQualityDay, rebuildTranscriptAgents } from './transcripts.ts';

/** What the facts have moved away from: quarters of an hour of calls and of texts, and conversations. */
export interface Changes {
  readonly calls: readonly Date[];
  readonly texts: readonly Date[];
  readonly threads: readonly string[];
  /** Whatever these reach back to is worked in by itself: the missed calls of earlier days that somebody got in touch with. */
  readonly isAlone?: boolean;
}

/**
 * A quarter of an hour of calls or texts, or a conversation, that could not be worked in. A day stands for its first quarter
 * of an hour.
 */
export interface Trouble {
  readonly kind: 'calls' | 'texts' | 'thread';
  readonly bucketAt: Date | null;
  readonly conversationId: string | null;
  readonly error: Error;
}

/** Works changes into every rollup. What a fact makes impossible is left out and returned, the rest is done all the same. */
export async function workIn(tx: Transaction, { calls, texts, threads, isAlone }: Changes): Promise<Trouble[]> {
  const troubles: Trouble[] = [];
  const inQuarters = <Result>(
    kind: 'calls' | 'texts',
    quarters: readonly Date[],
    work: (some: readonly Date[]) => Promise<Result>,
  ) => inParts(tx, quarters, work, (bucketAt, error) => troubles.push({ kind, bucketAt, conversationId: null, error }));
  const eachDay = (
    kind: 'calls' | 'texts',
    days: readonly Day[],
    rebuild: (tx: Transaction, day: Day) => Promise<void>,
  ) =>
    inParts(
      tx,
      days,
      async (some) => {
        for (const day of some) await rebuild(tx, day);
      },
      ({ from }, error) => troubles.push({ kind, bucketAt: new Date(quarterOf(from)), conversationId: null, error }),
    );
  const daysIn = async (kind: 'calls' | 'texts', moments: readonly Date[]) =>
    oneOfEach((await inQuarters(kind, moments, (some) => daysOf(tx, some))).flat());

  await inQuarters('calls', calls, (some) => rebuildIntervals(tx, some));
  await inQuarters('calls', calls, (some) => rebuildVisits(tx, some));
  const callDays = await daysIn('calls', calls);
  await eachDay('calls', callDays, rebuildHours);
  await eachDay('calls', callDays, rebuildCallDay);
  await eachDay('calls', oneOfEach(callDays, 'month'), (_, { date }) => rebuildAgentMonth(tx, date));
  await eachDay('calls', callDays, async (_, { from, to }) =>
    rebuildTranscriptAgents(
      tx,
      calls.filter((at) => quarterOf(from) <= Number(at) && at < to),
    ),
  );
  await eachDay('calls', callDays, rebuildQualityDay);
  if (await areCallersStale(tx, calls)) await eachDay('calls', await daysOf(tx, [new Date()]), rebuildCallers);

  const returned = [
    ...(await inQuarters('calls', calls, (some) => rebuildReturns(tx, { calls: some, texts: [] }, isAlone))),
    ...(await inQuarters('texts', texts, (some) => rebuildReturns(tx, { calls: [], texts: some }, isAlone))),
  ];
  const returnDays = [...returned.flat(), ...callDays.map(({ date }) => date)];
  await eachDay('calls', await daysNamed(tx, returnDays), rebuildCallbackDay);

  await eachDay('texts', await daysIn('texts', texts), rebuildTextDay);
  const began = await inParts(
    tx,
    threads,
    (some) => rebuildTurns(tx, some),
    (conversationId, error) => troubles.push({ kind: 'thread', bucketAt: null, conversationId, error }),
  );
  await eachDay('texts', await daysIn('texts', [...texts, ...began.flat()]), rebuildResponseDay);
  return troubles;
}

function oneOfEach(days: readonly Day[], span: 'day' | 'month' = 'day'): Day[] {
  return [...new Map(days.map((day) => [span === 'day' ? day.date : day.date.slice(0, 7), day])).values()];
}
