import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { settingsRows } from '../config/settings.ts';
import { allChecks } from '../src/checks/checks.ts';
import { createProgram } from '../src/cli/program.ts';
import { createContext } from '../src/context.ts';
import { query, sql } from '../src/db/database.ts';
import { declaredFacts } from '../src/rules/facts/declared.ts';
import { registerPages } from '../src/server/pages.ts';
import { createLog } from '../src/shared/log.ts';
import { migrated, settingsFor } from './server/receiver.ts';
import { databaseForTest } from './stores/databases.ts';

/**
 * The most doors that the house may have: commands, flags, variables, checks, addresses of pages (their formats CSV and JSON are no
 * others), columns of views and facts. A new one needs an old one that goes.
 */
const mostDoors = 490;

/** Words of what Trunkline is not. Who needs one of them again changes the design first. */
const died = [
  ...['traceparent', '@opentelemetry', 'OTEL_'],
  ...['REPORTING_DATABASE_URL', 'standby_behind', 'cdc-role', 'published.txt', 'schema.sql', 'queue_daily', 'date_key'],
  ...['fct_kpi', 'dim_date', 'dim_number', 'conversation_state', 'caller_calls', 'concurrent_calls', 'rollups.audits'],
  ...['wanted_time_zone', '--short-abandon', 'special_hours', 'reporting.holidays', 'reporting.business_hours'],
  ...['ENCRYPTION_KEY_PREVIOUS', 'keys_differ', 'resealing', 'webhook_urls', 'oauth_logins', 'login_required'],
  ...['lost_reads', 'claimSuspects', 'isBlamed', 'kept-outside', 'lost-sends', 'createDriftLog', 'ops.drift'],
  ...['body_hash', 'discovered_via', 'field_changes', 'addPartitions', 'multipart-parser'],
  ...['NOTIFY_WEBHOOK', 'NOTIFY_SLACK', 'NOTIFY_SMTP', 'NOTIFY_EMAIL'],
  ...['NOTIFY_QUIET_HOURS', 'NOTIFY_MIN_LEVEL', 'same_texts', 'quick_answers', 'segment_dollars', 'waiting-replies'],
  ...['trunkline links', 'trunkline rules list', 'daysOfCoverage'],
  ...['trunkline sends list', 'lock_waited', 'disk_low', 'plain-redirects'],
  ...['swagger', 'tie-outs', 'tie_outs', 'coverage/hours', 'dbt_project'],
];

const root = join(import.meta.dirname, '..');
/** The changelog says what went. */
const searched = ['src', 'workers', 'config', 'migrations', 'test', 'docs', 'README.md', 'CONTRIBUTING.md', 'Procfile'];

function filesUnder(name: string): string[] {
  const path = join(root, name);
  if (/\.md$|Procfile$/.test(name)) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|cjs|js|sql|md|ya?ml|json|txt|example|service|css)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

test('words that died stay dead', () => {
  const files = searched.flatMap(filesUnder).filter((file) => file !== import.meta.filename);
  expect(files.length).toBeGreaterThan(400);
  const found = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return died.filter((word) => text.includes(word)).map((word) => `${file.slice(root.length + 1)}: ${word}`);
  });
  expect(found).toEqual([]);
});

function menuOf(command: Command): readonly Command[] {
  return command.commands.flatMap((each) => [each, ...menuOf(each)]);
}

test('the house has few doors', async () => {
  const program = createProgram({} as Parameters<typeof createProgram>[0]);
  const commands = menuOf(program).filter((each) => each.commands.length === 0);
  const flags = [program, ...commands].flatMap(({ options }) => options.filter(({ long }) => long !== '--json'));

  const databaseUrl = await databaseForTest(migrated);
  await using context = await createContext(settingsFor(databaseUrl), {
    log: createLog('silent'),
    name: 'test',
    maxConnections: 1,
  });
  const { db } = context.database;
  const columns = await query(
    db,
    sql`select from information_schema.columns join information_schema.views using (table_schema, table_name)
      where table_schema = 'reporting'`,
  );
  const routes = new Set<string>();
  const app = Fastify();
  app.addHook(
    'onRoute',
    ({ method, url }) => void (method === 'HEAD' || routes.add(`${method} ${url.replace(/\.(csv|json)$/, '')}`)),
  );
  registerPages(app, context);
  await app.ready();
  await app.close();

  const doors = {
    commands: commands.length,
    flags: flags.length,
    variables: settingsRows().length,
    checks: Object.keys(allChecks).length,
    routes: routes.size,
    columns: columns.length,
    facts: Object.values(declaredFacts).reduce((sum, group) => sum + Object.keys(group).length, 0),
  };
  for (const [kind, count] of Object.entries(doors)) expect(count, kind).toBeGreaterThan(0);
  const all = Object.values(doors).reduce((sum, count) => sum + count, 0);
  expect(all, JSON.stringify(doors)).toBeLessThanOrEqual(mostDoors);
});
