import { blockerName, blockerRemedy } from '../../db/blockers.ts';
import { freeDisk } from '../../db/refusals.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf } from '../format.ts';
import type { PostgresStatus, SchemaStatus } from '../snapshot/deployment.ts';
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

/** Postgres refuses writes, or took the last delivery not: of its disk, or of anything else. */
export const databaseTakesNoWrites = defineCheck<'disk' | 'other'>({
  id: 'database_takes_no_writes',
  measure({ schema, postgres, processes, isDiskFull, isReadOnly, isRefusing }) {
    const seen = known(postgres);
    if (isDiskFull || seen?.diskFullAt) return 'disk';
    const isStandby = known(schema)?.takesWrites === false;
    const isRefused = isReadOnly || isRefusing || known(processes, []).some((each) => each.isRefusing);
    return (isStandby || isRefused || seen?.readOnlyAt) && 'other';
  },
  level: 'problem',
  sentence: (cause) =>
    cause === 'disk'
      ? 'The disk of Postgres is full, so deliveries are answered 503 or nothing is mirrored.'
      : 'Postgres accepts no writes, so deliveries are answered 503 and nothing is mirrored.',
  remedy: (cause) =>
    cause === 'disk'
      ? freeDisk
      : 'Check that DATABASE_URL names the primary and that its disk is not full, and read the log of `web`.',
  // Processes can't report themselves.
  hides: ['mirror_behind', 'web_missing', 'calls_unproven'],
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

/** Migrations of this release are missing, or views of the schema reporting are those of an earlier one. */
export const schemaOld = defineCheck<Pick<SchemaStatus, 'isMigrated' | 'outdatedViews'>>({
  id: 'schema_old',
  measure({ schema }) {
    const status = known(schema);
    return status && (!status.isMigrated || status.outdatedViews.length > 0) && status;
  },
  level: ({ isMigrated }) => (isMigrated ? 'warning' : 'problem'),
  sentence: ({ isMigrated }) =>
    isMigrated ? 'The reports are not all those of this release.' : 'The database lacks migrations of this release.',
  remedy: `Run ${toType('migrate')}; it names whatever is in the way.`,
  detail: ({ isMigrated, outdatedViews }) => (isMigrated ? `The views are ${outdatedViews.join(', ')}.` : undefined),
});

const lockWaited = defineCheck({
  id: 'lock_waited',
  measure: ({ postgres }) => known(postgres)?.waits,
  level: 'warning',
  sentence: ({ waiting }) =>
    `Another session holds a lock in Postgres, and ${countOf(waiting, 'session')} of Trunkline wait for it.`,
  remedy: (wait) => blockerRemedy([wait]),
  since: ({ waitingSince }) => waitingSince,
  // Role and application are named by their users, so they can be anything.
  detail: (wait) => `It is ${blockerName(wait)}.`,
});

/** Reported if less than this fraction, or fewer than these bytes, are free. */
const lowDisk = { share: 0.1, bytes: 1024 ** 3 };

const gigabytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

/** The disk of another Postgres than the embedded one cannot be seen. */
const diskLow = defineCheck({
  id: 'disk_low',
  measure({ disk }) {
    const { freeBytes = 0, totalBytes = 0 } = known(disk) ?? {};
    return (
      freeBytes < Math.max(lowDisk.bytes, lowDisk.share * totalBytes) && totalBytes > 0 && { freeBytes, totalBytes }
    );
  },
  level: 'warning',
  sentence: ({ freeBytes, totalBytes }) =>
    `The disk of the database has ${gigabytes(freeBytes)} of ${gigabytes(totalBytes)} left. When it is full, deliveries are answered 503 and nothing is mirrored.`,
  remedy: 'Free space on the disk of DATA_DIR, or enlarge it. Nothing has to be restarted.',
});

/** Bytes of write-ahead log that a slot may keep. */
const keptUnread = 1024 ** 3;

const replicationSlot = defineCheck({
  id: 'replication_slot',
  measure: ({ postgres }) => known(postgres)?.slots.filter(({ isLost, keptBytes }) => isLost || keptBytes > keptUnread),
  level: 'warning',
  sentence: ({ isLost, keptBytes }) =>
    isLost
      ? 'A replication slot is lost: Postgres removed changes that its copy had not read.'
      : `A replication slot is not read: Postgres keeps ${gigabytes(keptBytes)} of write-ahead log for it.`,
  remedy:
    'Start its copy, or drop it with `select pg_drop_replication_slot(…)`. max_slot_wal_keep_size keeps slots from filling the disk.',
  detail: ({ name }) => `The slot is '${name}'.`,
});

const minute = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

const writesLost = defineCheck({
  id: 'writes_lost',
  measure: ({ lostWrites }) => known(lostWrites),
  level: ({ isPaused }) => (isPaused ? 'problem' : 'warning'),
  sentence: ({ from, until, isPaused }) =>
    `The database went back in time: what was written from ${minute(from)} to ${minute(until)} is lost.${isPaused ? ' All automatic texts are paused.' : ''}`,
  remedy: ({ isPaused }) =>
    `Texts and calls of that time are searched; rules act on nothing older than its end. Repeat what people did in it: erasures, imports, rules, settings, decisions on opt-outs. ${
      isPaused ? `Then ${toType('sends resume')}.` : 'This ends a day later.'
    }`,
  since: ({ until }) => until,
});

export const postgresChecks = [
  databaseUnavailable,
  lockWaited,
  connectionsShort,
  databaseTakesNoWrites,
  writesLost,
  schemaOld,
  diskLow,
  replicationSlot,
];
