import { freeDisk } from '../db/refusals.ts';
import { toType } from '../shared/command-name.ts';
import { defineCheck, type Finding } from './check.ts';
import type { PostgresStatus, SchemaStatus } from './overview/deployment.ts';
import { known } from './overview.ts';

/** Nothing can be measured then. It is reported by whoever failed to reach Postgres. */
export const databaseUnavailable = defineCheck({
  id: 'database_unavailable',
  measure: () => undefined,
  level: 'problem',
  sentence: 'Postgres does not answer, so deliveries are answered 503 and nothing is mirrored.',
  remedy: `Check that Postgres runs, that its disk is not full (its own log says so), and that DATABASE_URL is right: ${toType('doctor')} names the reason.`,
});

/** Postgres refuses writes, or took the last delivery not: of its disk, or of anything else. */
const databaseTakesNoWrites = defineCheck<'disk' | 'other'>({
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
const connectionsShort = defineCheck<NonNullable<PostgresStatus['connections']> | 'all_taken'>({
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

export const postgresChecks = [databaseUnavailable, connectionsShort, databaseTakesNoWrites, writesLost, schemaOld];

const outages: Readonly<Record<string, Finding>> = {
  '25006': databaseTakesNoWrites.findingOf('other'),
  '53100': databaseTakesNoWrites.findingOf('disk'),
  '53300': connectionsShort.findingOf('all_taken'),
};

/** What to tell, by its SQLSTATE, of an error of a Postgres that can't serve. */
export const outageOf = (code: string): Finding => outages[code] ?? databaseUnavailable.findingOf(undefined);
