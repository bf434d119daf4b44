import type { Database, Transaction } from '../../db/database.ts';
import { keepEndpoints, rebuildAgentHours, rebuildCallHours } from './calls.ts';
import { keepContacts } from './parts.ts';
import { missedByCalls, missedByTexts, rebuildReturns } from './returns.ts';
import { atMost, type Day, hoursOf, inSteps, piecesOf, quartersOf, type Span } from './steps.ts';
import { rebuildTextDay } from './texts.ts';
import { rebuildActionDay, rebuildTranscripts } from './transcripts.ts';
import { rebuildVisits } from './visits.ts';

/** The part of a day to compute again: the quarter hours that contain these moments (none if empty), or all of it. */
export type Part = readonly Date[] | 'all';

type OfSpan = (tx: Transaction, day: Day, span: Span) => Promise<unknown>;
type OfDay = (tx: Transaction, day: Day) => Promise<unknown>;
type FindMissed = (tx: Transaction, span: Span, isAlone: boolean) => Promise<string[]>;

/** Maximum facts per step: of those counted by whole hours, and of those computed one by one. */
const limits = { counted: 5_000, each: 2_000, returns: 1_000 } as const;

const overHours: OfSpan[] = [rebuildCallHours, rebuildAgentHours];
const overCalls: OfSpan[] = [
  rebuildVisits,
  rebuildTranscripts,
  (tx, _, span) => keepContacts(tx, 'warehouse.calls', 'external_number', 'started_at', span),
];
const overCallDay: OfDay[] = [keepEndpoints, rebuildActionDay];

const overTexts: OfSpan[] = [(tx, _, span) => keepContacts(tx, 'warehouse.sms_messages', 'number', 'sent_at', span)];
const overTextDay: OfDay[] = [rebuildTextDay];

/**
 * Computes again the counts of a day's calls, and the returns of missed calls that these calls may change, including
 * missed calls of earlier days unless `isAlone`. Returns the errors of parts that failed because of facts; everything
 * else is done.
 */
export async function rebuildCalls(db: Database, day: Day, part: Part, isAlone: boolean): Promise<Error[]> {
  const quarters = await quartersOf(db, 'calls', day);
  const pieces = await piecesOf(db, 'calls', limits.each, quarters.filter(isIn(part)));
  const steps = stepsOf(db, day);
  await steps.overSpans(atMost(limits.counted, hoursOf(quarters).filter(isIn(part))), overHours);
  await steps.overSpans(pieces, overCalls);
  await steps.returns(pieces, missedByCalls, isAlone);
  await steps.overDay(overCallDay);
  return steps.faults;
}

/** As {@link rebuildCalls}, of texts. */
export async function rebuildTexts(db: Database, day: Day, part: Part, isAlone: boolean): Promise<Error[]> {
  const chosen = (await quartersOf(db, 'texts', day)).filter(isIn(part));
  const pieces = await piecesOf(db, 'texts', limits.each, chosen);
  const steps = stepsOf(db, day);
  await steps.overSpans(pieces, overTexts);
  await steps.returns(pieces, missedByTexts, isAlone);
  await steps.overDay(overTextDay);
  return steps.faults;
}

function stepsOf(db: Database, day: Day) {
  const faults: Error[] = [];
  const onFault = (error: Error) => faults.push(error);
  const each = <Item>(items: readonly Item[], work: (tx: Transaction, item: Item) => Promise<unknown>) =>
    inSteps(
      db,
      items,
      1,
      async (tx, some) => {
        for (const item of some) await work(tx, item);
      },
      onFault,
    );
  return {
    faults,
    async overSpans(spans: readonly Span[], rebuilds: readonly OfSpan[]): Promise<void> {
      for (const rebuild of rebuilds) await each(spans, (tx, span) => rebuild(tx, day, span));
    },
    overDay: (rebuilds: readonly OfDay[]) => each(rebuilds, (tx, rebuild) => rebuild(tx, day)),
    async returns(spans: readonly Span[], find: FindMissed, isAlone: boolean): Promise<void> {
      const missed = new Set<string>();
      await each(spans, async (tx, span) => {
        for (const id of await find(tx, span, isAlone)) missed.add(id);
      });
      // Ids begin with the second of the call, so the calls of a day are processed together.
      await inSteps(db, [...missed].sort(), limits.returns, rebuildReturns, onFault);
    },
  };
}

function isIn(part: Part): (span: Span) => boolean {
  if (part === 'all') return () => true;
  const moments = part.map(Number);
  return ({ from, to }) => moments.some((moment) => moment >= Number(from) && moment < Number(to));
}
