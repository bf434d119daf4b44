import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { asTexts, columnsOf, type Row, type Table } from '../table.ts';
import { Fault, type Report } from './file.ts';
import type { Period } from './period.ts';

/** The rows of a report. */
export interface Answer extends Table {
  readonly isCut: boolean;
  /** The values of the expressions of its sentence. Empty: no row. */
  readonly said: readonly Value[];
  readonly figure: Value | undefined;
}

export interface Value {
  readonly text: string | null;
  readonly isNumber: boolean;
}

/** What an address chooses. */
export interface Choice {
  readonly period: Period;
  readonly chosen: Readonly<Record<string, string>>;
}

/** Works in a transaction that can only read. */
export async function asReader<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    // Reports read small roll-ups: JIT-compiling their many expressions takes longer than running them.
    await client.query('begin transaction read only; set local jit = off; set local search_path = reporting');
    return await work(client);
  } finally {
    await client.query('rollback').then(
      () => client.release(),
      (error: Error) => client.release(error),
    );
  }
}

/** Answers a report, and leaves the transaction as it was. Throws a `Fault`. */
export async function answerReport(
  client: PoolClient,
  report: Report,
  { period, chosen }: Choice,
  { zone, limit, timeoutMs }: { zone: string; limit: number; timeoutMs: number },
): Promise<Answer> {
  if (report.fault) throw report.fault;
  const { says, figure, draws, choices } = report;
  const settings = { TimeZone: zone, 'report.from': period.from, 'report.to': period.to, statement_timeout: timeoutMs };
  for (const { name } of choices) Object.assign(settings, { [`report.${name}`]: chosen[name] ?? '' });
  // The expressions of its sentence, then of its figure, stand beside each row.
  const told = [...says, ...(figure ? [figure] : [])].filter((part) => typeof part !== 'string');
  const expressions = told.map(({ sql }, at) => `(${sql}) as "told ${at}"`).join(', ');
  // Materialized: the planner would compute them again for each row of a report of which it expects a few.
  const [computed, beside] =
    told.length === 0 ? ['', ''] : [`, told as materialized (select ${expressions} from report)`, ' cross join told'];
  const query = report.sql.trimEnd().replace(/;$/, '');
  const text = `with report as materialized (\n${query}\n)${computed} select * from report${beside} limit ${limit + 1}`;
  const { fields, rows } = await faulty(client, async () => {
    await client.query('select set_config(key, value, true) from json_each_text($1)', [JSON.stringify(settings)]);
    // The extended protocol takes one statement, so a file can't end the transaction.
    const statement = { text, types: asTexts, queryMode: 'extended' } as const;
    return client.query<Row>(statement);
  });
  const all = columnsOf(fields);
  const columns = all.slice(0, all.length - told.length);
  const used = draws.flatMap(({ x, y, value }) => [x, ...y.map(({ column }) => column), ...(value ? [value] : [])]);
  const missing = used.find((each) => !columns.some(({ name }) => name === each));
  if (missing) throw new Fault(`The query has no column ${missing}.`);
  const [first] = rows;
  const values = all
    .slice(columns.length)
    .map(({ name, type }) => ({ text: first?.[name] ?? null, isNumber: type === 'number' }));
  return {
    ...{ columns, rows: rows.slice(0, limit), isCut: rows.length > limit },
    said: first ? values.slice(0, figure ? -1 : undefined) : [],
    figure: first && figure && values.at(-1),
  };
}

/** Values and names of what can be chosen. */
export interface Options {
  readonly name: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

/** Throws a `Fault`. */
export function readOptions(client: PoolClient, { choices }: Report): Promise<Options[]> {
  return faulty(client, async () => {
    const options: Options[] = [];
    for (const { name, sql } of choices) {
      const query = { text: sql, rowMode: 'array', queryMode: 'extended' } as const;
      const { rows } = await client.query<[unknown, unknown]>(query);
      options.push({ name, options: rows.map(([value, label]) => [String(value), String(label)]) });
    }
    return options;
  });
}

/** Makes a `Fault` of what Postgres says of a file, and undoes it. */
async function faulty<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('savepoint report');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || /^(08|57P)/.test(error.code ?? '')) throw error;
    if (error.code === '57014') throw new Fault('This takes too long to read: choose fewer days.');
    throw new Fault([error.message, error.hint].filter(Boolean).join('. '));
  } finally {
    await client.query('rollback to savepoint report').catch(() => undefined);
  }
}
