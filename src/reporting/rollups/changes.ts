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

/** One of the changes that could not be worked in; a day stands for its first quarter of an hour. */
export type Trouble =
  | { readonly kind: 'calls' | 'texts'; readonly bucketAt: Date; readonly error: Error }
  | { readonly kind: 'thread'; readonly conversationId: string; readonly error: Error };

/** Works changes into every rollup. What a fact makes impossible is left out and returned, the rest is done all the same. */
export async function workIn(tx: Transaction, { calls, texts, threads, isAlone }: Changes): Promise<Trouble[]> {
  const troubles: Trouble[] = [];
  const asideQuarter =
    (kind: 'calls' | 'texts') =>
    (bucketAt: Date, error: Error): void => {
      troubles.push({ kind, bucketAt, error });
    };
  const asideDay =
    (kind: 'calls' | 'texts') =>
    (day: Day, error: Error): void => {
      troubles.push({ kind, bucketAt: new Date(quarterOf(day.from)), error });
    };
  const daysIn = async (kind: 'calls' | 'texts', moments: readonly Date[]): Promise<Day[]> => {
    const days = await inParts(tx, moments, (some) => daysOf(tx, some), asideQuarter(kind));
    return [...new Map(days.flat().map((day) => [day.date, day])).values()];
  };
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
      asideDay(kind),
    );

  await inParts(tx, calls, (some) => rebuildIntervals(tx, some), asideQuarter('calls'));
  await inParts(tx, calls, (some) => rebuildVisits(tx, some), asideQuarter('calls'));
  const callDays = await daysIn('calls', calls);
  await eachDay('calls', callDays, rebuildHours);
  await eachDay('calls', callDays, rebuildCallDay);
  await eachDay('calls', oneOfEachMonth(callDays), (_, { date }) => rebuildAgentMonth(tx, date));
  await eachDay('calls', callDays, async (_, { from, to }) =>
    rebuildTranscriptAgents(
      tx,
      calls.filter((at) => quarterOf(from) <= Number(at) && at < to),
    ),
  );
  await eachDay('calls', callDays, rebuildQualityDay);
  if (await areCallersStale(tx, calls)) await eachDay('calls', await daysOf(tx, [new Date()]), rebuildCallers);

  const returned = [
    ...(await inParts(
      tx,
      calls,
      (some) => rebuildReturns(tx, { calls: some, texts: [] }, isAlone),
      asideQuarter('calls'),
    )),
    ...(await inParts(
      tx,
      texts,
      (some) => rebuildReturns(tx, { calls: [], texts: some }, isAlone),
      asideQuarter('texts'),
    )),
  ].flat();
  const returnDays = [...returned, ...callDays.map(({ date }) => date)];
  await eachDay('calls', await daysNamed(tx, returnDays), rebuildCallbackDay);

  await eachDay('texts', await daysIn('texts', texts), rebuildTextDay);
  const began = await inParts(
    tx,
    threads,
    (some) => rebuildTurns(tx, some),
    (conversationId, error) => troubles.push({ kind: 'thread', conversationId, error }),
  );
  await eachDay('texts', await daysIn('texts', [...texts, ...began.flat()]), rebuildResponseDay);
  return troubles;
}

function oneOfEachMonth(days: readonly Day[]): Day[] {
  return [...new Map(days.map((day) => [day.date.slice(0, 7), day])).values()];
}
