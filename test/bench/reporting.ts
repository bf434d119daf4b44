import { appendFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { Client, Pool } from 'pg';
import { pageConnections } from '../../src/db/connection-limits.ts';
import { createDatabase } from '../../src/db/database.ts';
import { answerReport, asReader } from '../../src/server/reports/answer.ts';
import { readReports } from '../../src/server/reports/file.ts';
import { type Period, periodOf } from '../../src/server/reports/period.ts';
import { registerReports } from '../../src/server/reports/routes.ts';
import { createLog } from '../../src/shared/log.ts';
import { questionsOf, unasked } from './account/dashboards.ts';
import { inventHistory } from './account/history.ts';
import { atMost, type Finding, quantity } from './report.ts';
import type { Rig } from './rig/rig.ts';
import { type Spread, spreadOf } from './spread.ts';

const usualCalls = 200_000;
const textsPerCall = 0.6;
const warmUps = 2;
const cookbook = fileURLToPath(new URL('../../config/cookbook', import.meta.url));
/** The periods that reports and pages are asked for, as their addresses have them. */
const spans = [{ month: 'last' }, { days: '30' }];

/** Something that is asked again and again. */
interface Question {
  readonly what: string;
  readonly goalMs: number;
  readonly ask: () => Promise<unknown>;
  /** What it asks of Postgres, if that is one statement. */
  readonly text?: string;
  /** The period of a report. */
  readonly period?: Period;
}

/**
 * What dashboards ask of the views, each report of the cookbook, and `/reports`, warm, over an invented history of `--rows`
 * calls and 0.6 times as many texts.
 */
export async function reporting(rig: Rig): Promise<Finding[]> {
  const calls = rig.rows ?? usualCalls;
  const url = rig.isKept ? await rig.stores.keptDatabase('reporting') : await rig.stores.database('reporting');
  await using stack = new AsyncDisposableStack();
  const client = new Client({ connectionString: url });
  await client.connect();
  stack.defer(() => client.end());
  const views = await viewsOf(client);
  if (unasked(views).length > 0) throw new Error(`No dashboard asks ${unasked(views).join(', ')}: add a question.`);

  const began = performance.now();
  if (!rig.isKept) await inventHistory(url, { calls, messages: Math.round(calls * textsPerCall) }, rig.progress);
  const seconds = (performance.now() - began) / 1_000;
  const amount = await amountOf(client);
  const questions = [...(await ofDashboards(client, views)), ...(await ofReports(client, url, stack))];
  const timed: (Question & { readonly took: Spread })[] = [];
  for (const question of questions) timed.push({ ...question, took: await time(question.ask, rig.rounds ?? 7) });
  timed.sort((a, b) => b.took.median - a.took.median);
  if (rig.explainFile) await explain(client, rig.explainFile, timed);

  return [
    {
      bench: 'reporting',
      what: `${rig.isKept ? 'open' : 'invent and roll up'} ${amount}`,
      subject: quantity('took', 's', spreadOf([seconds])),
    },
    ...timed.map(({ what, goalMs, took }) => ({
      bench: 'reporting',
      what,
      subject: quantity('warm', 'ms', took),
      goal: atMost(took, goalMs, ' ms'),
    })),
  ];
}

async function ofDashboards(client: Client, views: readonly string[]): Promise<Question[]> {
  const busiest = await busiestOf(client);
  return questionsOf(new Set([...views, ...(await functionsOf(client))])).map(({ view, about, text: template }) => {
    const text = template.replace(/\{(\w+)\}/g, (_, name: string) => client.escapeLiteral(busiest[name] ?? ''));
    return { what: `${view}: ${about}`, goalMs: 100, text, ask: () => client.query(text) };
  });
}

/** Each file of the cookbook with its sentence, as its page asks it, and the start page with all its figures. */
async function ofReports(client: Client, url: string, stack: AsyncDisposableStack): Promise<Question[]> {
  const log = createLog('warn');
  const pool = stack.adopt(new Pool({ connectionString: url, max: pageConnections }), (each) => each.end());
  const { db } = stack.use(createDatabase({ url, log, maxConnections: 1, name: 'bench' }));
  const app = stack.adopt(Fastify(), (each) => each.close());
  const selectDay = 'select reporting.local_day(now())::text as today, time_zone as zone from reporting.params';
  const [{ today, zone } = { today: '', zone: '' }] = (await client.query<Record<'today' | 'zone', string>>(selectDay))
    .rows;
  registerReports(app, { db, pool, zone }, { settings: { reportsDir: undefined }, log }, async () => []);
  const limits = { zone, limit: 5_000, timeoutMs: 60_000 };
  return spans.flatMap((span): Question[] => {
    const period = periodOf(span, today);
    const name = new URLSearchParams(span).toString();
    const page = `/reports?${name}`;
    return [
      { what: page, goalMs: 300, ask: () => app.inject(page).then(({ statusCode }) => expected(statusCode === 200)) },
      ...[...readReports([cookbook]).values()].map((report) => ({
        what: `/reports/${report.name}?${name}`,
        goalMs: 100,
        ask: () =>
          asReader(pool, async (reader) =>
            expected('rows' in (await answerReport(reader, report, { period, chosen: {} }, limits))),
          ),
        text: report.sql.trimEnd().replace(/;$/, ''),
        period,
      })),
    ];
  });
}

function expected(isSo: boolean): void {
  if (!isSo) throw new Error('A report has no answer');
}

async function viewsOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ viewname: string }>(
    `select viewname from pg_views where schemaname = 'reporting' order by 1`,
  );
  return rows.map(({ viewname }) => viewname);
}

async function functionsOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ proname: string }>(
    `select proname from pg_proc where pronamespace = 'reporting'::regnamespace`,
  );
  return rows.map(({ proname }) => proname);
}

async function amountOf(client: Client): Promise<string> {
  const { rows } = await client.query<Record<string, string>>(
    `select (select count(*) from warehouse.calls) as calls, (select count(*) from warehouse.sms_messages) as texts,
       (select count(*) from warehouse.call_legs) as legs, (select count(*) from warehouse.transcripts) as transcripts,
       pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  const { size, ...counts } = rows[0] ?? {};
  return `${Object.entries(counts)
    .map(([name, count]) => `${Number(count).toLocaleString('en')} ${name}`)
    .join(', ')}; ${size}`;
}

/** Whoever has most to show: the worst that a filter by one of them meets. */
async function busiestOf(client: Client): Promise<Record<string, string>> {
  const { rows } = await client.query<Record<string, string>>(
    `select (select user_id::text from rollups.call_agent_rollup group by 1 order by sum(handled_count) desc limit 1) as agent,
       (select external_number from warehouse.calls where started_at > now() - interval '30 days' and external_number is not null group by 1 order by count(*) desc limit 1) as number,
       (select line from rollups.sms_day_rollup group by 1 order by sum(outbound_count) desc limit 1) as line,
       (select endpoint from rollups.queue_visits where kind = 'queue' group by 1 order by count(*) desc limit 1) as queue`,
  );
  return rows[0] ?? {};
}

async function time(ask: () => Promise<unknown>, rounds: number): Promise<Spread> {
  const took: number[] = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const began = performance.now();
    await ask();
    if (round >= 0) took.push(performance.now() - began);
  }
  return spreadOf(took);
}

/** Keeps the plans of the ten slowest statements, the slowest first. */
async function explain(
  client: Client,
  file: string,
  slowest: readonly (Question & { readonly took: Spread })[],
): Promise<void> {
  await writeFile(file, '');
  for (const { what, text, period, took } of slowest.filter((each) => each.text).slice(0, 10)) {
    const { from = '', to = '' } = period ?? {};
    await client.query(`select set_config('report.from', $1, false), set_config('report.to', $2, false)`, [from, to]);
    const { rows } = await client.query<Record<string, string>>(`explain (analyze, buffers) ${text}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    await appendFile(file, `-- ${what}, ${took.median.toFixed(1)} ms\n${text};\n${plan}\n\n`);
  }
}
