import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { escapeIdentifier, type PoolClient } from 'pg';
import type { Settings } from '../../../config/settings.ts';
import type { Finding } from '../../checks/check.ts';
import { pageConnections } from '../../db/connection-limits.ts';
import { selectReportsRole } from '../../reporting/bi-role.ts';
import type { Log } from '../../shared/log.ts';
import { type Parameters, textOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { answerPage } from '../page.ts';
import { csvOf, maxRows, type Pages, sendCsv } from '../table.ts';
import { answerReport, asReader, type Choice, readOptions } from './answer.ts';
import { Fault, type Report, readReports } from './file.ts';
import { heldFrom, type Now, renderReport, renderStart, type Told } from './page.ts';
import { compared, type Period, periodOf } from './period.ts';

const cookbook = fileURLToPath(new URL('../../../config/cookbook', import.meta.url));
/** Limits of the query of a page, and of each figure of the start page: a slow figure must not delay the others. */
const limits = { page: { limit: 5_000, timeoutMs: 5_000 }, figure: { limit: 5_000, timeoutMs: 2_000 } };

interface Route {
  Querystring: Parameters;
  Params: { readonly name: string };
}

/**
 * Serves `/reports?days=30`; and for each file of reports, a page such as `/reports/calls?from=2026-11-01` and its CSV.
 */
export function registerReports(
  app: FastifyInstance,
  { pool }: Pages,
  { settings: { reportsDir }, log }: { settings: Pick<Settings, 'reportsDir'>; log: Log },
  takeFindings: () => Promise<Finding[]>,
): void {
  const folders = [cookbook, ...(reportsDir === undefined ? [] : [reportsDir])];
  if (reportsDir !== undefined && !existsSync(reportsDir)) {
    log.warn({ reportsDir }, 'The folder of REPORTS_DIR does not exist: /reports has those of Trunkline alone');
  }
  /** What the pages of one request have in common; `read` works as the role of reports, if there is one. */
  const open = async (query: Parameters) => {
    const findings = await takeFindings();
    return asReader(pool, async (client) => {
      const [day] = (await client.query<Pick<Now, 'today' | 'zone'>>(selectDay)).rows;
      if (!day) throw new Error('reporting.params has no row');
      const period = periodOf(query, day.today);
      const held = await client.query<Omit<Now, 'findings' | 'today' | 'zone'>>(selectHeld, [period.from, period.to]);
      const [own] = held.rows;
      if (!own) throw new Error('One row of what is held was expected');
      const [role] = (await client.query<{ name: string }>(selectReportsRole)).rows;
      const now: Now = { ...day, ...own, findings };
      const read = <T>(work: (reader: PoolClient) => Promise<T>) =>
        asReader(pool, async (reader) => {
          if (role) await reader.query(`set local role ${escapeIdentifier(role.name)}`);
          return work(reader);
        });
      return { now, period, read };
    });
  };
  const named = (name: string) => {
    const reports = readReports(folders);
    const report = reports.get(name);
    if (!report) throw new BadAddress('There is no such report.', 404);
    return { report, target: reports.get(report.rows ?? '') };
  };

  app.get<Route>('/reports', async ({ query }, reply) => {
    const { now, period, read } = await open(query);
    const reports = [...readReports(folders).values()];
    const figures = reports.filter(({ figure }) => figure);
    const told: [Report, Told | Fault][] = [];
    const left = figures.entries();
    const ask = async () => {
      for (const [at, report] of left) {
        const choice = { period, chosen: {} };
        const asked = read((client) => tell(client, report, choice, now, limits.figure));
        told[at] = [report, await asked.catch(orFault)];
      }
    };
    // Other pages get a connection between two figures.
    await Promise.all(Array.from({ length: pageConnections }, ask));
    return answerPage(reply, await renderStart(told, reports, period, now));
  });

  app.get<Route>('/reports/:name', async ({ query, params }, reply) => {
    const { report, target } = named(params.name);
    const { now, period, read } = await open(query);
    const choice = { period, chosen: chosenOf(report, query) };
    const opened = await read(async (client) => {
      const told = await tell(client, report, choice, now, limits.page);
      return { ...told, target, options: await readOptions(client, report) };
    });
    return answerPage(reply, await renderReport(opened, choice, now));
  });

  app.get<Route>('/reports/:name.csv', async ({ query, params }, reply) => {
    const { report } = named(params.name);
    const { now, period, read } = await open(query);
    const choice = { period, chosen: chosenOf(report, query) };
    const limit = { ...limits.page, zone: now.zone, limit: maxRows };
    const answer = await read((client) => answerReport(client, report, choice, limit));
    if (answer.isCut) throw new BadAddress(`These are more than ${maxRows} rows: choose fewer days.`);
    const name = report.hasPeriod ? `${report.name}-${period.from}-to-${period.to}` : report.name;
    return sendCsv(reply, name, csvOf(answer));
  });
}

const selectDay = `select reporting.local_day(now())::text as today, time_zone as zone from reporting.params`;

/** Since when calls and texts are held; and the hours of a period whose calls aren't proven complete. */
const selectHeld = `
  with first as materialized (
    select min(from_at) as at from ops.coverage where stream = 'calls' and state = 'proven'
  ), unproven as materialized (
    select hour from first cross join generate_series(date_trunc('hour', greatest(first.at, reporting.day_start($1::date)), 'UTC'),
      least(reporting.day_start($2::date + 1), now()) - interval '1 microsecond', interval '1 hour') hour
    where not exists (select from ops.coverage where stream = 'calls' and from_at = hour and to_at <= now() and state = 'proven')
  )
  select (select reporting.local_day(at)::text from first) as "callsFrom",
    (select min(local_date)::text from reporting.sms_daily where inbound_count + outbound_count > 0) as "textsFrom",
    exists (select from ops.backfills where stream = 'threads' and finished_at is null) as "areTextsComing",
    array(select distinct reporting.local_day(hour)::text from unproven) as "unprovenDays",
    (select to_char(min(hour) at time zone time_zone, 'Dy DD Mon, HH24:MI') from unproven) as "completeUntil",
    reporting.local_day(now() - callback_window)::text as "returnsFrom"
  from reporting.params`;

function orFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  throw error;
}

/** Answers a report for its period; and, where it has a sentence, for its days that are over and as many before. */
async function tell(
  client: PoolClient,
  report: Report,
  choice: Choice,
  now: Now,
  limit: (typeof limits)['page'],
): Promise<Told> {
  const of = (period: Period) => answerReport(client, report, { ...choice, period }, { ...limit, zone: now.zone });
  const told = { report, now: await of(choice.period) };
  const both = report.hasPeriod && report.says.length > 0 ? compared(choice.period, now.today) : undefined;
  if (!both) return told;
  const { over, past } = both;
  const from = heldFrom(report, now);
  if (from === null || (from !== undefined && past.from < from)) return { ...told, past: 'not held' };
  return { ...told, over: over.to === choice.period.to ? told.now : await of(over), past: await of(past) };
}

function chosenOf({ choices }: Report, query: Parameters): Record<string, string> {
  const given = choices.map(({ name }) => [name, textOf(query, name)] as const);
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
