import { type Database, query, type Transaction } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { wordColumns } from '../warehouse/transcripts.ts';
import { createUnlessHeld, faultOfRoleName, isAllowed, NoBiRole, refuseWhoSeesMore } from './bi-role.ts';

/** The publication for change data capture, in every database. */
export const publicationName = 'trunkline';

export interface CdcRole {
  readonly name: string;
  readonly isCreated: boolean;
  readonly isTextShown: boolean;
  /** The published columns, by table. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  /** Statements that Postgres didn't let us run, or that need a restart of it. Nothing can be replicated without them. */
  readonly forAdministrator?: readonly string[];
}

/** Schemas whose tables are published, with the exceptions below. */
const publishedSchemas = ['warehouse', 'rollups', 'reporting'];

/** What the views of `reporting` need of the daemon's own state. No other table and no other column of `ops` is published. */
const publishedOps: Readonly<Record<string, readonly string[]>> = {
  'ops.coverage': [
    ...['stream', 'from_at', 'to_at', 'state', 'reported_count', 'held_count', 'unannounced_count', 'is_watched'],
    ...['due_at', 'checked_at', 'proven_at', 'last_error'],
  ],
  'ops.opt_outs': ['number', 'decided_at', 'line', 'decision', 'source'],
  'ops.rollup_state': ['is_only', 'drained_at', 'meaning', 'rebuilt_at', 'wanted_time_zone'],
  'ops.send_control': ['is_only', 'highest_unit_micros'],
  'ops.sends': [
    ...['send_id', 'rule', 'rule_version', 'line', 'number', 'trigger_kind', 'trigger_id', 'trigger_at', 'mode'],
    ...['body', 'state', 'search_count', 'message_type', 'units', 'settled_micros', 'message_id', 'expires_at'],
    ...['planned_at', 'reserved_at', 'dispatched_at', 'settled_at'],
  ],
  'ops.tie_outs': [
    ...['local_date', 'kind', 'name', 'theirs', 'ours', 'call_ids', 'unexplained_ids', 'explained', 'compared_at'],
  ],
};

/** What people wrote or said, and what was made of it: published only with `--show-text`. */
const text: Readonly<Record<string, 'all' | readonly string[]>> = {
  'ops.sends': ['body'],
  'warehouse.blocked_senders': ['reason'],
  'warehouse.sms_messages': ['body', 'block_reason'],
  'warehouse.transcript_bodies': 'all',
  'warehouse.transcript_kpis': ['kpi_note'],
  'warehouse.transcripts': wordColumns,
};

/** Never published: addresses of users, webhooks of other programs, and below, unknown keys and hashes, which let one guess a text. */
const withheld: typeof text = {
  'warehouse.users': ['email', 'mobile'],
  'warehouse.webhook_subscriptions': 'all',
};
const withheldEverywhere = ['extra', 'content_hash'];

/**
 * Publishes the tables that a copy of the reports needs, and lets a role copy them. Creates the role if it doesn't exist.
 * Safe to repeat; adds the columns of later releases. Throws {@link NoBiRole} for a role that could read more.
 */
export async function grantCdcRole(
  db: Database,
  name: string,
  { isTextShown = false }: { isTextShown?: boolean | undefined } = {},
): Promise<CdcRole> {
  const fault = faultOfRoleName(name);
  if (fault !== undefined) throw new NoBiRole(fault);
  return db.transaction().execute(async (tx) => {
    await takeLock(tx, 'bi_role');
    const isCreated = await createUnlessHeld(tx, name);
    await refuseWhoSeesMore(tx, name, ['secrets', 'bullmq']);
    const tables = await publishedTables(tx, isTextShown);
    const [server] = await query<{ database: string; isHeld: boolean; isLogical: boolean; mayReplicate: boolean }>(
      tx,
      `select quote_ident(current_database()) as database, current_setting('wal_level') = 'logical' as "isLogical",
         exists (select from pg_publication where pubname = $2) as "isHeld",
         (select rolreplication from pg_roles where rolname = $1) as "mayReplicate"`,
      [name, publicationName],
    );
    const listed = Object.entries(tables).map(([table, columns]) => `${table} (${columns.join(', ')})`);
    const schemas = [...publishedSchemas, 'ops'].join(', ');
    for (const statement of [
      server?.isHeld
        ? `alter publication ${publicationName} set table ${listed.join(', ')}`
        : `create publication ${publicationName} for table ${listed.join(', ')}`,
      `grant connect on database ${server?.database} to ${name}`,
      `grant usage on schema ${schemas} to ${name}`,
      // Columns that an earlier call granted too.
      `revoke all on all tables in schema ${schemas} from ${name}`,
      ...Object.entries(tables).map(
        ([table, columns]) => `grant select (${columns.join(', ')}) on ${table} to ${name}`,
      ),
    ]) {
      await query(tx, statement, []);
    }
    const forAdministrator: string[] = [];
    const replicates = `alter role ${name} replication`;
    if (!server?.mayReplicate && !(await isAllowed(tx, replicates))) forAdministrator.push(replicates);
    if (!server?.isLogical) forAdministrator.push('alter system set wal_level = logical');
    return { name, isCreated, isTextShown, tables, ...(forAdministrator.length > 0 && { forAdministrator }) };
  });
}

/** The columns to publish, by table. Generated columns are left out: before Postgres 18 they cannot be published. */
export async function publishedTables(
  tx: Database | Transaction,
  isTextShown: boolean,
): Promise<Record<string, string[]>> {
  const rows = await query<{ table: string; columns: string[] }>(
    tx,
    `select n.nspname || '.' || c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and (n.nspname = any($1) or n.nspname || '.' || c.relname = any($2))
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by 1 order by 1`,
    [publishedSchemas, Object.keys(publishedOps)],
  );
  const leftOut = isTextShown ? [withheld] : [withheld, text];
  const isPublished = (table: string, column: string) =>
    (publishedOps[table]?.includes(column) ?? true) &&
    !withheldEverywhere.includes(column) &&
    !leftOut.some(({ [table]: columns }) => columns === 'all' || columns?.includes(column));
  return Object.fromEntries(
    rows
      .map(({ table, columns }) => [table, columns.filter((column) => isPublished(table, column))] as const)
      .filter(([, columns]) => columns.length > 0),
  );
}
