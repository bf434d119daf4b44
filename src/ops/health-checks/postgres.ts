import { type Blocker, blockerName, blockerRemedy } from '../../db/blockers.ts';
import { freeDisk } from '../../db/refusals.ts';
import type { ReplicationSlot } from '../../db/slots.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf, quantity, span } from '../format.ts';
import type { PostgresStatus } from '../snapshot/deployment.ts';
import { known } from '../snapshot.ts';
import { defineCheck } from './check.ts';

/** Nothing can be measured then. It is reported by whoever failed to reach Postgres. */
export const databaseUnavailable = defineCheck({
  id: 'database_unavailable',
  measure: () => undefined,
  level: 'problem',
  sentence: 'Postgres does not answer, so deliveries are answered 503 and nothing is mirrored.',
  remedy: `Check that Postgres runs, that its disk is not full (its own log says so), and that DATABASE_URL is right: ${toType('doctor')} names the reason.`,
});

export const databaseReadOnly = defineCheck({
  id: 'database_read_only',
  measure: ({ schema, postgres, isReadOnly }) =>
    isReadOnly || known(schema)?.takesWrites === false || known(postgres)?.readOnlyAt,
  level: 'problem',
  sentence: 'Postgres accepts no writes, so deliveries are answered 503 and nothing is mirrored.',
  remedy: 'Check that DATABASE_URL names the primary and that its disk is not full, and read the log of `web`.',
  // Processes can't report themselves.
  hides: ['mirror_behind', 'web_missing', 'coverage_late', 'deliveries_refused'],
});

export const diskFull = defineCheck({
  id: 'disk_full',
  measure: ({ postgres, isDiskFull }) => isDiskFull || known(postgres)?.diskFullAt,
  level: 'problem',
  sentence: 'The disk of Postgres is full, so deliveries are answered 503 or nothing is mirrored.',
  remedy: freeDisk,
});

/** `all_taken`: Postgres has just refused one more. */
export const connectionsShort = defineCheck<NonNullable<PostgresStatus['connections']> | 'all_taken'>({
  id: 'connections_short',
  measure: ({ postgres }) => known(postgres)?.connections,
  level: (limit) => (limit === 'all_taken' ? 'problem' : 'warning'),
  sentence(limit) {
    if (limit === 'all_taken')
      return 'Postgres takes no more connections, so deliveries are answered 503 or nothing is mirrored.';
    return limit.isTooMuch
      ? 'Trunkline may open more connections than Postgres allows.'
      : 'Postgres has too few connections left for Trunkline.';
  },
  remedy: `Run fewer web and worker processes, lower their DATABASE_POOL_SIZE, or raise the limit: ${toType('doctor')} names it.`,
  detail: (limit) => (limit === 'all_taken' ? undefined : limit.sentence),
});

export const migrationsMissing = defineCheck({
  id: 'migrations_missing',
  measure: ({ schema }) => known(schema)?.isMigrated === false,
  level: 'problem',
  sentence: 'The database lacks migrations of this release.',
  remedy: `Run ${toType('migrate')}.`,
});

const deliveriesRefused = defineCheck({
  id: 'deliveries_refused',
  measure: ({ isRefusing, processes }) => isRefusing || known(processes, []).some((each) => each.isRefusing),
  level: 'problem',
  sentence: 'The last delivery could not be stored and was answered 503.',
  remedy: 'Check that Postgres runs and that its disk is not full, and read the log of `web`.',
});

const viewsStale = defineCheck({
  id: 'views_stale',
  measure({ schema }) {
    const views = known(schema)?.outdatedViews ?? [];
    return views.length > 0 && { views };
  },
  level: 'warning',
  sentence: ({ views }) =>
    `The reports are not all those of this release: ${views.slice(0, 3).join(', ')}${views.length > 3 ? ` and ${views.length - 3} more` : ''}.`,
  remedy: `Run ${toType('migrate')}; it names whatever is in the way.`,
});

/** Seconds after which waiting for a lock is a problem. */
const longWaitSeconds = 30;

/** Role and application are named by their users, so they can be anything. */
const isIt = (blocker: Blocker) => `It is ${blockerName(blocker)}.`;

const lockWaited = defineCheck({
  id: 'lock_waited',
  measure({ postgres, takenAt }) {
    return known(postgres)?.waits.map((wait) => ({
      ...wait,
      seconds: secondsBetween(wait.waitingSince, takenAt),
      openSeconds: wait.since && secondsBetween(wait.since, takenAt),
    }));
  },
  level: ({ waiting, seconds }) => (waiting > 0 && seconds > longWaitSeconds ? 'problem' : 'warning'),
  sentence(wait) {
    const { waiting, seconds, openSeconds } = wait;
    if (waiting === 0)
      return 'Another session holds a lock of the queues in Postgres: new texts and calls are mirrored without their jobs, some seconds late.';
    const open = openSeconds === null ? '' : ` Its transaction has been open for ${span(openSeconds)}.`;
    return `Another session has held a lock for ${span(seconds)} or longer, and ${countOf(waiting, 'session')} of Trunkline wait for it.${open}`;
  },
  remedy: (wait) => blockerRemedy([wait]),
  since: ({ waitingSince }) => waitingSince,
  detail: (each) => isIt(each),
});

/** What a held snapshot costs. */
const cost = 'Postgres removes no outdated rows, so that reads become slower and the database larger';

const transactionOpen = defineCheck({
  id: 'transaction_open',
  measure: ({ postgres, takenAt }) =>
    known(postgres)?.long.flatMap((each) =>
      each.since === null ? [] : [{ ...each, seconds: secondsBetween(each.since, takenAt) }],
    ),
  level: 'warning',
  sentence: (open) =>
    `A transaction of another program has been open for ${span(open.seconds)}: until it ends, ${cost} (${quantity(open.deadRows)} outdated rows now).`,
  remedy: (open) => blockerRemedy([open]),
  since: ({ since }) => since,
  detail: (each) => isIt(each),
});

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1_000);
}

/** Reported if less than this fraction, or fewer than these bytes, are free. */
const lowDisk = { share: 0.1, bytes: 1024 ** 3 };
const fullDisk = { share: 0.02, bytes: 256 * 1024 ** 2 };

const gigabytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

const diskLow = defineCheck({
  id: 'disk_low',
  measure({ disk }) {
    const status = known(disk);
    if (status === undefined) return undefined;
    const { freeBytes, totalBytes } = status;
    const isBelow = ({ share, bytes }: typeof lowDisk) => freeBytes < bytes || freeBytes < share * totalBytes;
    return isBelow(lowDisk) && { ...status, isNearlyFull: isBelow(fullDisk) };
  },
  level: ({ isNearlyFull }) => (isNearlyFull ? 'problem' : 'warning'),
  sentence: ({ freeBytes, totalBytes }) =>
    `The disk of the database has ${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} left. When it is full, deliveries are answered 503 and nothing is mirrored.`,
  remedy: 'Free space on the disk of DATA_DIR, or enlarge it. Nothing has to be restarted.',
});

/** Transactions after which the snapshot of a standby is old: about ten minutes of a busy account. */
const maxSnapshotAge = 200_000;

/** Bytes of write-ahead log that a slot may keep before somebody has to act: without a copy that reads it, and with one. */
const keptUnread = 1024 ** 3;
const keptAtAll = 10 * 1024 ** 3;

const replicationSlot = defineCheck<ReplicationSlot>({
  id: 'replication_slot',
  measure: ({ postgres }) =>
    known(postgres)?.slots.filter(
      ({ isActive, isLost, keptBytes, snapshotAge }) =>
        isLost || !isActive || keptBytes > keptAtAll || snapshotAge > maxSnapshotAge,
    ),
  level({ isLost, isLimited, keptBytes, snapshotAge }) {
    if (keptBytes > keptAtAll && !isLimited && !isLost) return 'problem';
    return isLost || keptBytes > keptUnread || snapshotAge > maxSnapshotAge ? 'warning' : 'notice';
  },
  sentence({ isActive, isLost, keptBytes, snapshotAge }) {
    if (isLost) return 'A replication slot is lost: Postgres removed changes that its copy had not read.';
    if (snapshotAge > maxSnapshotAge)
      return `The standby behind a replication slot holds a snapshot of ${quantity(snapshotAge)} transactions ago: until it ends, ${cost}.`;
    const whose = isActive ? 'The copy behind a replication slot is late' : 'Nobody reads a replication slot';
    return `${whose}: Postgres keeps ${gigabytes(keptBytes)} of write-ahead log for it.`;
  },
  remedy: ({ isActive, isLost, snapshotAge }) =>
    isActive && snapshotAge > maxSnapshotAge
      ? 'At the standby, run `select pid, usename, application_name, xact_start from pg_stat_activity where backend_xmin is not null order by xact_start`, and `select pg_terminate_backend(pid)` for the oldest.'
      : isLost
        ? 'Drop it with `select pg_drop_replication_slot(…)`, and make the copy again.'
        : 'Start its copy, or drop it with `select pg_drop_replication_slot(…)` if there is none any more. max_slot_wal_keep_size keeps slots from filling the disk.',
  detail: ({ name }) => `The slot is '${name}'.`,
});

const minute = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

const writesLost = defineCheck({
  id: 'writes_lost',
  measure: ({ lostWrites }) => known(lostWrites),
  level: ({ recoveredAt }) => (recoveredAt === null ? 'problem' : 'warning'),
  sentence: ({ from, until, recoveredAt }) =>
    `The database went back in time: what was written from ${minute(from)} to ${minute(until)} is lost. ${
      recoveredAt === null ? 'Sends are paused until it is read again.' : 'What could be found of it was read again.'
    }`,
  remedy: ({ recoveredAt }) =>
    `Repeat what people changed here in that time: rules, decisions on opt-outs, imports. Automatic texts and notes that may have gone out are not repeated: ${toType('sends list --state NOT_SENT')} names whom no answer may have reached. ${
      recoveredAt === null
        ? `If it does not end, ${toType('doctor')} names the reads that fail.`
        : 'This ends a day later.'
    }`,
  since: ({ noticedAt }) => noticedAt,
});

/** Seconds behind the primary after which pages are too old. */
const lateStandbySeconds = 60;

const standbyAway = defineCheck({
  id: 'standby_away',
  measure: ({ standby }) => standby.state === 'unknown' && standby,
  level: 'warning',
  sentence: 'The standby of REPORTING_DATABASE_URL cannot be used, so pages read from the primary.',
  remedy: 'Start it, or correct REPORTING_DATABASE_URL, or remove it.',
  detail: ({ reason }) => `The reason: ${reason}.`,
});

const standbyBehind = defineCheck({
  id: 'standby_behind',
  measure({ standby }) {
    const seconds = known(standby)?.lagSeconds ?? 0;
    return seconds > lateStandbySeconds && { seconds };
  },
  level: 'warning',
  sentence: ({ seconds }) =>
    `The standby of REPORTING_DATABASE_URL is ${span(seconds)} behind, and so are \`/reports\` and the lists.`,
  remedy:
    'Its log says whether it still receives: `select * from pg_stat_wal_receiver`. A long query there holds it back for max_standby_streaming_delay at most. Without REPORTING_DATABASE_URL, pages read from the primary.',
});

export const postgresChecks = [
  databaseUnavailable,
  diskFull,
  lockWaited,
  transactionOpen,
  connectionsShort,
  databaseReadOnly,
  writesLost,
  deliveriesRefused,
  migrationsMissing,
  viewsStale,
  diskLow,
  replicationSlot,
  standbyAway,
  standbyBehind,
];
