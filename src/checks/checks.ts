import { ago, countOf } from '../shared/format.ts';
import { isDirectory } from '../warehouse/directory.ts';
import { automationChecks } from './automation.ts';
import { type Finding, type HealthCheck, levels } from './check.ts';
import { processChecks, queueUnreachable, settingChecks } from './deployment.ts';
import { mirrorChecks } from './mirror.ts';
import { known, type Snapshot, type SnapshotParts, takeSnapshot } from './overview.ts';
import { postgresChecks } from './postgres.ts';
import { reportChecks } from './reporting.ts';
import { serviceChecks } from './service.ts';

/**
 * All checks, in the order in which findings of the same level are shown: data first, then sends and rules, then
 * settings.
 */
export const allChecks: readonly HealthCheck[] = [
  ...postgresChecks,
  queueUnreachable,
  ...serviceChecks,
  ...mirrorChecks,
  ...processChecks,
  ...automationChecks,
  ...reportChecks,
  ...settingChecks,
];

/**
 * Runs all checks on a snapshot. Returns the findings, most severe first, without those that are consequences of
 * another.
 */
export function healthChecks(snapshot: Snapshot): Finding[] {
  const found = allChecks.map((check) => ({ check, findings: check.find(snapshot) }));
  const hidden = new Set(found.flatMap(({ check, findings }) => (findings.length > 0 ? check.hides : [])));
  return found
    .flatMap(({ check, findings }) => (hidden.has(check.id) ? [] : findings))
    .sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

/** Runs all checks. Rejects with `DatabaseUnavailable` while Postgres can't be queried. */
export async function findings(parts: SnapshotParts): Promise<Finding[]> {
  return healthChecks(await takeSnapshot(parts));
}

/** The overall state in one sentence: the most severe finding, or that all is well. */
export interface Verdict {
  readonly level: 'ok' | 'warning' | 'problem';
  readonly sentence: string;
}

export function verdictOf(snapshot: Snapshot): Verdict {
  const [worst] = healthChecks(snapshot);
  if (worst && worst.level !== 'notice') return { level: worst.level, sentence: worst.sentence };
  return { level: 'ok', sentence: healthySentence(snapshot) };
}

/** The JSON of `/api/status` and `trunkline status --json`. */
export function statusJson(snapshot: Snapshot): object {
  return { verdict: verdictOf(snapshot), concerns: healthChecks(snapshot), ...snapshot };
}

/** Seconds for which unread counts may differ while a text is being mirrored. */
const unreadGraceSeconds = 60;

/** Only claims what is proven: webhooks announce new data, but only a comparison proves that nothing is missing. */
function healthySentence({ backlog, completeness, freshness, takenAt }: Snapshot): string {
  const newest = known(freshness, [])
    .filter(({ kind, newestAt }) => (kind === 'thread' || kind === 'call') && newestAt !== null)
    .sort((a, b) => Number(b.newestAt) - Number(a.newestAt))[0];
  if (!newest?.newestAt) {
    const announced = known(backlog, []).filter(({ kind }) => !isDirectory(kind));
    const first = announced.reduce((sum, each) => sum + each.due, 0);
    return `Everything is ready; ${first === 0 ? 'nothing has arrived yet' : `${countOf(first, 'read')} in progress`}.`;
  }
  const { uncompared, lines = [] } = known(completeness) ?? {};
  const isSearched = lines.some(
    ({ state, since }) => state === 'behind' && takenAt.getTime() - since.getTime() > unreadGraceSeconds * 1_000,
  );
  const isProven = !isSearched && (uncompared?.days ?? 0) === 0 && !uncompared?.texts;
  const reads = known(backlog, []).reduce((sum, each) => sum + each.due + each.putOff, 0);
  const rest = reads === 0 ? '' : `, except ${countOf(reads, 'read')} in progress`;
  const arrived = newest.kind === 'thread' ? 'the newest text arrived' : 'the newest call began';
  return `Everything ${isProven ? '' : 'that was announced '}is mirrored${rest}; ${arrived} ${ago(newest.newestAt, takenAt)}.`;
}
