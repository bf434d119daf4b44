import { setTimeout as sleep } from 'node:timers/promises';
import { meaningOfRefusedKey, type Service } from '../api-client/client.ts';
import { backfillCalls } from '../completeness/coverage/backfill.ts';
import {
  addCallers,
  addContacts,
  addNumbers,
  countPendingReads,
  probe,
  probingProgress,
  recordTextSearch,
  rereadListedNumbers,
  type SkippedNumbers,
  skippedNumbers,
} from '../completeness/gaps/candidate-threads.ts';
import { type Database, query, sql } from '../db/database.ts';
import type { TargetKind } from '../inbox/targets.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { countOf, toTheSecond } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import { dayMs } from '../shared/time-range.ts';
import { ourLines } from '../warehouse/lines.ts';
import { type RangeFlags, rangeOf, secondsOf } from './arguments.ts';
import { api, openContext } from './environment.ts';
import { readNumberList, refuseUnknownLines } from './number-list.ts';
import type { Output } from './output.ts';
import { createProgress, printNote } from './terminal.ts';

/** The maximum range of one search (section 8). */
const backfillDays = 366;

/** Fills in call history, by default of the last 366 days. Ctrl-C stops it at the next page; the next run resumes. */
export async function backfillCallHistory({
  withoutLegs = false,
  ...given
}: RangeFlags & { withoutLegs?: boolean }): Promise<Output> {
  const { from, to } = rangeOf({ ...given, from: given.from ?? defaultStart(given.to) }, 0);
  await using context = await openContext('backfill', { needed: api });
  const inWords = (moment: Date) => toTheSecond(moment, context.settings.timeZone);
  if (!given.from) console.error(`From ${inWords(from)} to ${inWords(to)}, since no --from was given.`);
  const { db } = context.database;
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort()).once('SIGTERM', () => stopping.abort());
  const progress = createProgress('calls');
  const outcome = await backfillCalls(
    {
      service: context.service as Service,
      db,
      onWait: (error, ms) => printNote(`${error.message}. Waiting ${Math.ceil(ms / 1_000)} s.`),
    },
    { range: { from: secondsOf(from), to: secondsOf(to) }, withArtefacts: !withoutLegs },
    ({ share, mirrored }) => progress(share, mirrored),
    stopping.signal,
  );

  const { mirrored, resumedFrom, unproven, isFinished } = outcome;
  const doneUntil = new Date(outcome.doneUntil * 1_000);
  const resumed = resumedFrom === undefined ? '' : ' (resumed)';
  const lines = [
    `${mirrored} calls mirrored; everything before ${inWords(doneUntil)} is compared${resumed}.`,
    ...unproven.map(({ from: hour, problem }) => `Not proven: ${inWords(hour)}: ${problem}.`),
    !withoutLegs && `The workers read legs, recordings and transcripts next; ${toType('status')} shows the backlog.`,
  ];
  // The default range and spans start later next time, which would be a different back-fill.
  const flags = [
    `--from ${from.toISOString()}`,
    given.to && `--to ${to.toISOString()}`,
    withoutLegs && '--without-legs',
  ];
  const toResume = toType(`backfill calls ${flags.filter(Boolean).join(' ')}`);
  return {
    json: { ...outcome, doneUntil },
    text: lines.filter(Boolean).join('\n'),
    failed: !isFinished && new UserError(`Stopped. ${toResume} resumes from here.`),
  };
}

/** Midnight, so the same command on the same day resumes the run. */
function defaultStart(to = new Date()): Date {
  return new Date(Math.floor(Math.min(to.getTime(), Date.now()) / dayMs - backfillDays) * dayMs);
}

/** Milliseconds between two checks of the progress. The workers do the probing. */
const progressCheckMs = 1_000;
/** Milliseconds without progress after which the command ends. Longer than the waits for a thread that isn't found. */
const idleForMs = 90_000;

/**
 * Adds pairs that may have a conversation as candidates, probes them, schedules reads of the mirrored threads of listed
 * numbers, and waits for the results.
 */
export async function backfillThreads({
  numbers,
  most,
  ...given
}: RangeFlags & { numbers?: string; most: number }): Promise<Output> {
  const period = rangeOf({ ...given, from: given.from ?? new Date(0) }, 0);
  const list = numbers === undefined ? [] : await readNumberList(numbers);
  await using context = await openContext('backfill');
  const { db } = context.database;
  refuseUnknownLines(numbers ?? '', list, await knownLines(db));
  const added = (await addNumbers(db, list)) + (await addCallers(db, period)) + (await addContacts(db));
  const omitted = await skippedNumbers(db, list);
  const before = await probingProgress(db);
  const { probed } = await probe(db, most);
  const reread = await rereadListedNumbers(db, list, { max: most });
  const readProgress = async () => {
    const probing = await probingProgress(db);
    return { ...probing, underWay: probing.underWay + (await countPendingReads(db, reread.pending)) };
  };
  const asked = probed + reread.pending.length;
  const progress = createProgress('pairs');
  let now = await readProgress();
  let movedAt = performance.now();
  let refusal: Awaited<ReturnType<typeof refusalOf>>;
  while (now.underWay > 0 && performance.now() - movedAt < idleForMs) {
    refusal = await refusalOf(db, ['thread']);
    if (refusal !== undefined) break;
    await sleep(progressCheckMs);
    const next = await readProgress();
    if (next.underWay !== now.underWay) movedAt = performance.now();
    now = next;
    progress(asked === 0 ? 1 : Math.max(0, 1 - now.underWay / asked), Math.max(0, asked - now.underWay));
  }
  const done = { added, probed, ...now, found: now.found - before.found, reread: reread.pending.length };
  const left = { ...omitted, rereadLeft: reread.left };
  if (now.underWay === 0 && now.open === 0) await recordTextSearch(db, period, done.found);
  const { why, remedy } = refusal ?? { why: 'nothing was read for a while', remedy: 'Check that a worker runs.' };
  return {
    json: { ...done, ...left },
    text: [sentenceOf(done), ...remarksOn(left)].join('\n'),
    failed:
      now.underWay > 0 &&
      new UserError(`${now.underWay} reads are not done: ${why}.`, { remedy: `${remedy} The rest follows.` }),
  };
}

function sentenceOf({ probed, found, open, reread }: Record<'probed' | 'found' | 'open' | 'reread', number>): string {
  const again = reread > 0 ? `, ${reread} known threads read again` : '';
  return `${probed} pairs probed, ${found} conversations found${again}, ${open} pairs left for later.`;
}

/** Sentences about listed numbers that were skipped. */
function remarksOn({ probedRecently, erased, rereadLeft }: SkippedNumbers & { readonly rereadLeft: number }): string[] {
  return [
    rereadLeft > 0 && `${rereadLeft} more known threads of these numbers: the same command continues with them.`,
    probedRecently > 0 &&
      `${countOf(probedRecently, 'pair')} of the list left out: probed within the last hour, so only newer texts can be missing.`,
    erased > 0 && `${countOf(erased, 'number')} of the list left out: erased.`,
  ].filter((each) => each !== false);
}

/** The account's lines, for probing. If none is known, rejects with a `UserError` with reason and remedy. */
async function knownLines(db: Database): Promise<string[]> {
  const lines = await ourLines(db);
  if (lines.length > 0) return lines;
  // If threads are refused too, the lines alone wouldn't help.
  const refused = await refusalOf(db, ['lines', 'thread']);
  throw new UserError(
    `No line of the account is known, so nothing can be probed${refused ? `: ${refused.why}` : ''}.`,
    {
      remedy: refused?.remedy ?? unreadRemedy,
    },
  );
}

const unreadRemedy = `Run a worker (${toType('worker')}), which reads them when it starts; ${toType('doctor')} says what is in its way. If the service lists none, enable texting for a number in its portal, and run ${toType('resync lines')}.`;

/** Why the first of these kinds whose reads are parked is refused. Undefined if none is parked. */
async function refusalOf(db: Database, kinds: readonly TargetKind[]) {
  const [parked] = await query<{ reason: string; missing_scope: string | null }>(
    db,
    sql`select reason, missing_scope from ops.parked_kinds where kind = any(${kinds}) and parked_until > now()
     order by array_position(${kinds}::text[], kind) limit 1`,
  );
  if (parked === undefined) return undefined;
  const { remedy } = meaningOfRefusedKey(parked.missing_scope);
  return { why: `the service refuses (${maskNumbers(parked.reason)})`, remedy };
}
