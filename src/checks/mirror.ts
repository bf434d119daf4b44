import { kindNames } from '../inbox/targets.ts';
import { works } from '../processes/running.ts';
import { toType } from '../shared/command-name.ts';
import { countOf, duration, quantity } from '../shared/format.ts';
import { asTold, defineCheck, type Told } from './check.ts';
import { known } from './overview.ts';

/** Seconds after which a due read is late. The sweep reads it after five. */
export const lateSeconds = 30;
const veryLateSeconds = 600;

const mirrorBehind = defineCheck({
  id: 'mirror_behind',
  measure({ parked, backlog, processes, takenAt }) {
    const parkedKinds = known(parked, []).map(({ kind }) => kind);
    const waiting = known(backlog, []).filter(({ kind }) => !parkedKinds.includes(kind));
    const seconds = Math.max(0, ...waiting.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0));
    const due = waiting.reduce((sum, each) => sum + each.due, 0);
    const workers = known(processes)?.filter(works).length;
    return seconds > lateSeconds && { seconds, due, workers, takenAt };
  },
  level: ({ seconds, workers }) => (seconds > veryLateSeconds || workers === 0 ? 'problem' : 'warning'),
  sentence: ({ seconds, due, workers }) =>
    `The mirror is ${duration(seconds)} behind, with ${countOf(due, 'overdue read')}${workers === 0 ? ', and no worker runs' : ''}.`,
  remedy: ({ workers }) =>
    workers
      ? `Read the log of the workers (${workers} running), or start another one (${toType('worker')}).`
      : `Start a worker (${toType('worker')}); if one runs, check that it uses this database.`,
  since: ({ takenAt, seconds }) => new Date(takenAt.getTime() - seconds * 1_000),
});

const readsFailing = defineCheck({
  id: 'reads_failing',
  measure: ({ backlog }) =>
    known(backlog, []).filter(
      ({ stubborn, longestPutOffSeconds }) => stubborn > 0 || (longestPutOffSeconds ?? 0) > lateSeconds,
    ),
  level: 'warning',
  sentence: ({ kind, stubborn, putOff }) =>
    `${countOf(Math.max(stubborn, putOff), 'read')} of ${kindNames[kind].toLowerCase()} failed.`,
  remedy: `Trunkline tries again. If this lasts, the service may be down: ${toType('doctor')} asks it.`,
  detail: ({ sampleErrors }) => `The last error was: ${sampleErrors[0] ?? 'not recorded'}.`,
});

const deliveriesUnrecognized = defineCheck({
  id: 'deliveries_unrecognized',
  measure: ({ inbox }) => known(inbox)?.unrecognized.lastDay,
  level: 'notice',
  sentence: (count) =>
    `${quantity(count)} ${count === 1 ? 'delivery' : 'deliveries'} of the last day could not be parsed.`,
  remedy: `They are kept whole as long as deliveries, and a release that knows them reads them: ${toType('list deliveries recognized=no')} shows them.`,
});

const gapOpen = defineCheck({
  id: 'gap_open',
  measure({ completeness }) {
    const status = known(completeness);
    return status && status.openGapCount > 0 && status;
  },
  level: 'warning',
  sentence: ({ openGapCount }) =>
    `Webhooks may have been lost in ${countOf(openGapCount, 'period')}: a possible gap, not searched yet.`,
  remedy: `It is searched automatically, as soon as a worker runs and the service answers it: ${toType('doctor')} says what is in the way. ops.gaps has the times and reasons.`,
  since: ({ openGapSince }) => openGapSince,
});

/** An hour is compared two minutes after its end. Until then, the newest proven hour ended an hour earlier. */
const lateProofSeconds = 2 * 3_600;

/** Hours that differ from the service's, the newest hours while nothing proves them, or days and texts of before. */
const callsUnproven = defineCheck<Told>({
  id: 'calls_unproven',
  measure({ completeness, takenAt }) {
    const status = known(completeness);
    if (status === undefined) return undefined;
    const { unprovenCount, difference, provenUntil, uncompared, isFillingIn } = status;
    const seconds = (takenAt.getTime() - (provenUntil ?? takenAt).getTime()) / 1_000;
    if (unprovenCount > 0)
      return {
        level: 'warning',
        sentence: `Hours of call history that are not proven complete: ${quantity(unprovenCount)}.`,
        remedy: 'Trunkline compares again automatically.',
        detail: `The newest reason: ${difference ?? 'not recorded'}.`,
      };
    if (seconds > lateProofSeconds)
      return {
        level: 'warning',
        sentence: `Call history is proven complete only up to ${duration(seconds)} ago; each hour should be, soon after its end.`,
        remedy: `Check that a worker runs and that the service answers it: ${toType('doctor')} names the reason.`,
      };
    if (isFillingIn || (uncompared.days === 0 && !uncompared.texts)) return undefined;
    return {
      level: 'notice',
      sentence:
        uncompared.days === 0
          ? 'Texts from before the first start were never searched for.'
          : `Call history of ${uncompared.days} of the last ${uncompared.of} days was never compared with the service.`,
      remedy: `${toType('backfill calls')} fills in and proves call history, ${toType('backfill threads')} searches for older texts, and ${toType('list coverage')} shows what is proven for each day.`,
    };
  },
  ...asTold,
});

const textsMissing = defineCheck({
  id: 'texts_missing',
  measure({ completeness }) {
    const lines = known(completeness)?.lines.filter(({ state }) => state === 'unexplained') ?? [];
    return lines.length > 0 && { lines };
  },
  level: 'warning',
  sentence: ({ lines }) => `Unread texts of ${countOf(lines.length, 'line')} cannot be found: a possible gap.`,
  detail: ({ lines }) => `They came to ${lines.map(({ line }) => line).join(', ')}.`,
  remedy: `If you know who may have written, run ${toType('resync thread LINE/NUMBER')}, or ${toType('backfill threads --numbers FILE')} with a file of their numbers. Texts of an erased person are never mirrored: mark them as read at the service.`,
});

/** Whether everything is mirrored. */
export const mirrorChecks = [mirrorBehind, readsFailing, gapOpen, callsUnproven, textsMissing, deliveriesUnrecognized];
