import { toType } from '../../shared/command-name.ts';
import { countOf, quantity, span, streamNames } from '../format.ts';
import { works } from '../processes.ts';
import type { Completeness } from '../snapshot/mirror.ts';
import { known } from '../snapshot.ts';
import { defineCheck } from './check.ts';

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
    `The mirror is ${span(seconds)} behind, with ${countOf(due, 'overdue read')}${workers === 0 ? ', and no worker runs' : ''}.`,
  remedy: ({ workers }) =>
    workers
      ? `Read the log of the workers (${workers} running), or start another one (${toType('worker')}).`
      : `Start a worker (${toType('worker')}); if one runs, check that it uses this database.`,
  since: ({ takenAt, seconds }) => new Date(takenAt.getTime() - seconds * 1_000),
});

const readsWaiting = defineCheck({
  id: 'reads_waiting',
  measure({ backlog, takenAt }) {
    const waiting = known(backlog, []).filter(({ longestPutOffSeconds }) => (longestPutOffSeconds ?? 0) > lateSeconds);
    const longest = Math.max(...waiting.map(({ longestPutOffSeconds }) => longestPutOffSeconds ?? 0));
    const count = waiting.reduce((sum, { putOff }) => sum + putOff, 0);
    // The waits double, so a read has been failing for about as long as its current wait.
    const since = new Date(takenAt.getTime() - longest * 1_000);
    return waiting[0] && { count, since, error: waiting[0].sampleErrors[0] ?? 'not recorded' };
  },
  level: 'warning',
  sentence: ({ count }) => `${countOf(count, 'read')} failed and ${count === 1 ? 'waits' : 'wait'} for a retry.`,
  remedy: `Trunkline tries again. If this lasts, the service may be down: ${toType('doctor')} asks it.`,
  detail: ({ error }) => `The last error was: ${error}.`,
  since: ({ since }) => since,
});

const readsFailing = defineCheck({
  id: 'reads_failing',
  measure: ({ backlog }) => known(backlog, []).filter(({ stubborn }) => stubborn > 0),
  level: 'warning',
  sentence: ({ stubborn, kind }) =>
    `${countOf(stubborn, 'read')} of ${streamNames[kind].toLowerCase()} failed three times or more.`,
  remedy: 'Trunkline tries again.',
  detail: ({ sampleErrors }) => `The last error was: ${sampleErrors[0] ?? 'not recorded'}.`,
});

const deliveriesUnrecognized = defineCheck({
  id: 'deliveries_unrecognized',
  measure: ({ inbox }) => known(inbox)?.unrecognized.lastDay,
  level: 'notice',
  sentence: (count) =>
    `${quantity(count)} ${count === 1 ? 'delivery' : 'deliveries'} of the last day could not be parsed.`,
  remedy: `They are kept: ${toType('events list --unrecognized')} shows them; ${toType('events discard --before DATE --unrecognized')} removes them.`,
});

function withAny(status: Completeness | undefined, count: 'openGapCount' | 'unprovenCount') {
  return status && status[count] > 0 && status;
}

const gapOpen = defineCheck({
  id: 'gap_open',
  measure: ({ completeness }) => withAny(known(completeness), 'openGapCount'),
  level: 'warning',
  sentence: ({ openGapCount }) =>
    `Webhooks may have been lost in ${countOf(openGapCount, 'period')}: a possible gap, not searched yet.`,
  remedy: `It is searched automatically, as soon as a worker runs and the service answers it: ${toType('doctor')} says what is in the way. ops.gaps has the times and reasons.`,
  since: ({ openGapSince }) => openGapSince,
});

const coverageUnproven = defineCheck({
  id: 'coverage_unproven',
  measure: ({ completeness }) => withAny(known(completeness), 'unprovenCount'),
  level: 'warning',
  sentence: ({ unprovenCount }) =>
    `${countOf(unprovenCount, 'hour')} of call history ${unprovenCount === 1 ? 'is' : 'are'} not proven complete.`,
  remedy: 'Trunkline compares again automatically.',
  detail: ({ difference }) => `The newest reason: ${difference ?? 'not recorded'}.`,
});

/** An hour is compared two minutes after its end. Until then, the newest proven hour ended an hour earlier. */
const lateProofSeconds = 2 * 3_600;

const coverageLate = defineCheck({
  id: 'coverage_late',
  measure({ completeness, takenAt }) {
    const until = known(completeness)?.provenUntil ?? takenAt;
    const seconds = (takenAt.getTime() - until.getTime()) / 1_000;
    return seconds > lateProofSeconds && seconds;
  },
  level: 'warning',
  sentence: (seconds) =>
    `Call history is proven complete only up to ${span(seconds)} ago; each hour should be, soon after its end.`,
  remedy: `Check that a worker runs and that the service answers it: ${toType('doctor')} names the reason.`,
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

const historyUncompared = defineCheck({
  id: 'history_uncompared',
  measure({ completeness }) {
    const { uncompared, isFillingIn = false } = known(completeness) ?? {};
    return uncompared && !isFillingIn && (uncompared.days > 0 || uncompared.texts) && uncompared;
  },
  level: 'notice',
  sentence({ days, of }) {
    if (days === 0) return 'Texts from before the first start were never searched for.';
    return `Call history of ${days === of ? '' : `${days} of `}the last ${of} days was never compared with the service.`;
  },
  remedy: `${toType('backfill calls')} fills in and proves call history, ${toType('backfill threads')} searches for older texts, and ${toType('coverage')} shows what is proven for each day.`,
});

/** Whether everything is mirrored. */
export const mirrorChecks = [
  mirrorBehind,
  readsWaiting,
  readsFailing,
  gapOpen,
  coverageUnproven,
  coverageLate,
  textsMissing,
  historyUncompared,
  deliveriesUnrecognized,
];
