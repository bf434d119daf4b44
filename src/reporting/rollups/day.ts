import type { Database, Transaction } from '../../db/database.ts';
import {
  keepEndpoints,
  rebuildAgentDay,
  rebuildAgentMonth,
  rebuildAgents,
  rebuildCallers,
  rebuildGroups,
  rebuildIntervals,
  rebuildNumbers,
} from './calls.ts';
import { keepContacts } from './parts.ts';
import { missedByCalls, missedByTexts, rebuildCallbackDay, rebuildReturns } from './returns.ts';
import { atMost, type Day, hoursOf, inSteps, piecesOf, quartersOf, type Span } from './steps.ts';
import { rebuildFailureDay, rebuildResponseDay, rebuildTextDay } from './texts.ts';
import { rebuildQualityDay, rebuildTranscriptAgents } from './transcripts.ts';
import { rebuildVisits } from './visits.ts';

/** What of a day is worked out again: the quarters of an hour with these moments, nothing if there are none, or all of it. */
export type Part = readonly Date[] | 'all';

/** How many facts a step covers at most: by quarter and hour they are counted, and at least an hour of them. */
const limits = { counted: 5_000, each: 2_000, returns: 1_000 } as const;

const overHours = [rebuildIntervals, rebuildNumbers, rebuildGroups, rebuildAgents];
const overCalls = [
  rebuildVisits,
  rebuildTranscriptAgents,
  rebuildCallers,
  (tx: Transaction, _: Day, span: Span) => keepContacts(tx, 'warehouse.calls', 'external_number', 'started_at', span),
];
const overCallDay = [keepEndpoints, rebuildAgentDay, rebuildAgentMonth, rebuildQualityDay, rebuildCallbackDay];
const overTextDay = [rebuildTextDay, rebuildFailureDay, rebuildResponseDay];

/**
 * Works out again what the calls of a day are counted by, and the returns of missed calls that they may change: unless `isAlone`, of
 * earlier days too. Returns what facts made impossible; all the rest is done.
 */
export async function rebuildCalls(db: Database, day: Day, part: Part, isAlone: boolean): Promise<Error[]> {
  if (part.length === 0) return [];
  const faults: Error[] = [];
  const onFault = (error: Error) => faults.push(error);
  const each = <Item>(items: readonly Item[], work: (tx: Transaction, item: Item) => Promise<unknown>) =>
    inSteps(db, items, 1, (tx, [item]) => work(tx, item as Item), onFault);
  const quarters = await quartersOf(db, 'calls', day);
  const pieces = await piecesOf(db, 'calls', limits.each, quarters.filter(isIn(part)));
  const hours = atMost(limits.counted, hoursOf(quarters).filter(isIn(part)));
  for (const rebuild of overHours) await each(hours, (tx, span) => rebuild(tx, day, span));
  for (const rebuild of overCalls) await each(pieces, (tx, span) => rebuild(tx, day, span));
  const missed = new Set<string>();
  await each(pieces, async (tx, span) => {
    for (const id of await missedByCalls(tx, span, isAlone)) missed.add(id);
  });
  await inSteps(db, [...missed].sort(), limits.returns, rebuildReturns, onFault);
  await each(overCallDay, (tx, rebuild) => rebuild(tx, day));
  return faults;
}

/** The same of texts. */
export async function rebuildTexts(db: Database, day: Day, part: Part, isAlone: boolean): Promise<Error[]> {
  if (part.length === 0) return [];
  const faults: Error[] = [];
  const onFault = (error: Error) => faults.push(error);
  const quarters = await quartersOf(db, 'texts', day);
  const pieces = await piecesOf(db, 'texts', limits.each, quarters.filter(isIn(part)));
  const missed = new Set<string>();
  await inSteps(
    db,
    pieces,
    1,
    async (tx, [span]) => {
      if (!span) return;
      await keepContacts(tx, 'warehouse.sms_messages', 'number', 'sent_at', span);
      for (const id of await missedByTexts(tx, span, isAlone)) missed.add(id);
    },
    onFault,
  );
  await inSteps(db, [...missed].sort(), limits.returns, rebuildReturns, onFault);
  await inSteps(db, overTextDay, 1, async (tx, [rebuild]) => rebuild?.(tx, day), onFault);
  return faults;
}

function isIn(part: Part): (span: Span) => boolean {
  if (part === 'all') return () => true;
  const moments = part.map(Number);
  return ({ from, to }) => moments.some((moment) => moment >= Number(from) && moment < Number(to));
}
