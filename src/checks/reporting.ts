import { toType } from '../shared/command-name.ts';
import { countOf, duration, quantity } from '../shared/format.ts';
import { asTold, defineCheck, type Finding, type Told } from './check.ts';
import type { DrainFailure, SetAsideChange } from './overview/reporting.ts';
import { known, type Snapshot } from './overview.ts';

/** The parts of a snapshot that these checks need. */
type ReportParts = Pick<Snapshot, 'reporting' | 'takenAt'>;

/**
 * Seconds after which changes missing in the reports are reported. A drain runs every ten seconds, or every 900 while
 * reads are late.
 */
export const lateReportSeconds = 300;
const veryLateSeconds = 3_600;

const updated: Readonly<Record<DrainFailure['what'], string>> = {
  rollups: 'The reports of calls and texts',
  outcomes: 'The reports of rules and their texts',
};

/** How the rows of ops.rollup_troubles are named. */
function nameOf({ kind, bucketAt, conversationId, error }: SetAsideChange): string {
  const what =
    kind === 'thread'
      ? `turns of conversation ${conversationId}`
      : `${kind} from ${bucketAt?.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `${what} (${error})`;
}

const nothingIsLost = 'It is tried again, and nothing is lost: all facts are in the schema warehouse.';

/** What the reports lack: everything since a while, single days or conversations, or calls of no day. */
const reportsBehind = defineCheck<Told, ReportParts>({
  id: 'reports_behind',
  measure({ reporting, takenAt }) {
    const status = known(reporting);
    if (status === undefined) return undefined;
    const { failures, waitingSince, setAside, undatedCalls } = status;
    const found: Told[] = [];
    const secondsSince = (since: Date) => Math.max(0, (takenAt.getTime() - since.getTime()) / 1_000);
    const levelSince = (since: Date) => (secondsSince(since) > veryLateSeconds ? 'problem' : 'warning');
    for (const { what, error, since } of failures) {
      found.push({
        level: levelSince(since),
        sentence: `${updated[what]} stand still: the update has failed for ${duration(secondsSince(since))}.`,
        remedy: `${nothingIsLost} The role of DATABASE_URL needs every right in the schemas rollups, reporting, ops and warehouse; ${toType('migrate')} restores views and functions.`,
        detail: `The error was: ${error}.`,
        since,
      });
    }
    if (failures.length === 0 && waitingSince !== null && secondsSince(waitingSince) > lateReportSeconds) {
      found.push({
        level: levelSince(waitingSince),
        sentence: `The reports are ${duration(secondsSince(waitingSince))} behind: they lack what changed since then.`,
        remedy:
          'Check that a worker runs, and read its log for "Updating the rollups". While reads wait for longer than a minute, the reports come every 15 minutes only.',
        since: waitingSince,
      });
    }
    if (setAside.count > 0) {
      found.push({
        level: 'warning',
        sentence: `The reports lack ${countOf(setAside.count, 'change')} that could not be counted.`,
        remedy:
          'A value there is out of range. ops.rollup_troubles lists them with their errors: correct the row in the schema warehouse, or report it. They are tried again within a quarter of an hour.',
        detail: `The first are ${setAside.samples.map(nameOf).join('; ')}.`,
        since: setAside.since,
      });
    }
    if (undatedCalls > 0) {
      found.push({
        level: 'warning',
        sentence: `Calls without a start that was understood, so that no report has them: ${quantity(undatedCalls)}.`,
        remedy:
          'Look at `select call_id from warehouse.calls where started_at is null and deleted_at is null`, and report the form of the time that the service sent.',
      });
    }
    return found;
  },
  ...asTold,
});

const rebuild = `Run ${toType('reporting rebuild')}, unless it runs; workers may keep running.`;

/** Other definitions than those of now, or other figures than the service's. */
const reportsDiffer = defineCheck<Told, ReportParts>({
  id: 'reports_differ',
  measure({ reporting }) {
    const status = known(reporting);
    if (status === undefined) return undefined;
    const { isCurrent, untied } = status;
    const found: Told[] = [];
    if (!isCurrent) {
      const sentence =
        'Not all reports follow the definitions of now: delivery words or reporting.params changed, or a rebuild has not ended.';
      found.push({ level: 'warning', sentence, remedy: rebuild });
    }
    for (const { isOfStatus, count, days, date, figure, theirs, ours, callIds } of untied) {
      found.push({
        // What a direction and a status mean is specified; whether a search by a user or a queue means what legs show is not.
        level: isOfStatus ? 'warning' : 'notice',
        sentence: `Figures of calls by ${isOfStatus ? 'direction and status' : 'queue or user'} that differ from the service’s own, although the calls were read again: ${quantity(count)} on ${countOf(days, 'day')}.`,
        remedy: `Compare one of the calls with the portal, or run ${toType('resync call')} with its id. \`ops.attribution_days.differences\` names up to 100 of each figure. This ends a week after their day.`,
        detail: `${date}, ${figure}: the service lists ${theirs}, ${ours} are held${callIds.length > 0 ? ` (calls ${callIds.join(', ')})` : ''}.`,
      });
    }
    return found;
  },
  ...asTold,
});

/** Whether the reports show what is mirrored. */
export const reportChecks = [reportsBehind, reportsDiffer];

/** What is missing in the reports, and why. */
export function reportFindings(parts: ReportParts): Finding[] {
  return reportChecks.flatMap((check) => check.find(parts));
}
