import { appendFile, writeFile } from 'node:fs/promises';
import { Client } from 'pg';
import { type Question, questionsOf, unasked } from './account/dashboards.ts';
import { inventHistory } from './account/history.ts';
import { atMost, type Finding, quantity } from './report.ts';
import type { Rig } from './rig/rig.ts';
import { type Spread, spreadOf } from './spread.ts';

const usualCalls = 200_000;
const textsPerCall = 0.6;
const goalMs = 100;
const warmUps = 2;

/**
 * What dashboards ask of the views, warm, over an invented history of `--rows` calls and 0.6 times as many texts.
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
  const busiest = await busiestOf(client);
  const questions = questionsOf(new Set([...views, ...(await functionsOf(client))])).map((each) => ({
    ...each,
    text: each.text.replace(/\{(\w+)\}/g, (_, name: string) => client.escapeLiteral(busiest[name] ?? '')),
  }));
  const timed: { question: Question; took: Spread }[] = [];
  for (const question of questions) timed.push({ question, took: await time(client, question.text, rig.rounds ?? 7) });
  timed.sort((a, b) => b.took.median - a.took.median);
  if (rig.explainFile) await explain(client, rig.explainFile, timed.slice(0, 10));

  return [
    {
      bench: 'reporting',
      what: `${rig.isKept ? 'open' : 'invent and roll up'} ${amount}`,
      subject: quantity('took', 's', spreadOf([seconds])),
    },
    ...timed.map(({ question: { view, about }, took }) => ({
      bench: 'reporting',
      what: `${view}: ${about}`,
      subject: quantity('warm', 'ms', took),
      goal: atMost(took, goalMs, ' ms'),
    })),
  ];
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

async function time(client: Client, text: string, rounds: number): Promise<Spread> {
  const took: number[] = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const began = performance.now();
    await client.query(text);
    if (round >= 0) took.push(performance.now() - began);
  }
  return spreadOf(took);
}

/** Keeps the plans of the slowest questions, the slowest first. */
async function explain(
  client: Client,
  file: string,
  slowest: readonly { question: Question; took: Spread }[],
): Promise<void> {
  await writeFile(file, '');
  for (const { question, took } of slowest) {
    const { rows } = await client.query<Record<string, string>>(`explain (analyze, buffers) ${question.text}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    await appendFile(
      file,
      `-- ${question.view}: ${question.about}, ${took.median.toFixed(1)} ms\n${question.text};\n${plan}\n\n`,
    );
  }
}
