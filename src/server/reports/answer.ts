import { DatabaseError, escapeIdentifier, type Pool, type PoolClient, type QueryResult } from 'pg';
import { selectReportsRole } from '../../reporting/bi-role.ts';
import { asTexts, columnsOf, type Row, type Table } from '../table.ts';
import { type Expression, Fault, type Report } from './file.ts';
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

/** Runs `read` in a transaction that can only read, and after `prepare` as the role of reports, if there is one. */
export async function asReader<Now, T>(
  pool: Pool,
  prepare: (client: PoolClient) => Promise<Now>,
  read: (client: PoolClient, now: Now) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    // Reports read small roll-ups: JIT-compiling their many expressions takes longer than running them.
    await client.query('begin transaction read only; set local jit = off; set local search_path = reporting');
    const now = await prepare(client);
    const [role] = (await client.query<{ name: string }>(selectReportsRole)).rows;
    if (role) await client.query(`set local role ${escapeIdentifier(role.name)}`);
    return await read(client, now);
  } finally {
    await client.query('rollback').then(
      () => client.release(),
      (error: Error) => client.release(error),
    );
  }
}

/** Answers a report; or says what is wrong with its file, and leaves the transaction as it was. */
export async function answerReport(
  client: PoolClient,
  report: Report,
  { period, chosen }: Choice,
  { zone, limit, timeoutMs }: { zone: string; limit: number; timeoutMs: number },
): Promise<Answer | Fault> {
  if (report.fault) return report.fault;
  const { text, lineAt } = statementOf(report, limit + 1);
  const settings = { TimeZone: zone, 'report.from': period.from, 'report.to': period.to, statement_timeout: timeoutMs };
  for (const { name } of report.choices) Object.assign(settings, { [`report.${name}`]: chosen[name] ?? '' });
  await client.query('savepoint report');
  try {
    await client.query('select set_config(key, value, true) from json_each_text($1)', [JSON.stringify(settings)]);
    // The extended protocol takes one statement, so a file cannot end the transaction.
    const statement = { text, types: asTexts, queryMode: 'extended' } as const;
    return answerOf(await client.query<Row>(statement), report, limit);
  } catch (error) {
    if (error instanceof Fault) return error;
    if (!(error instanceof DatabaseError) || /^(08|57P)/.test(error.code ?? '')) throw error;
    return faultOf(error, lineAt);
  } finally {
    await client.query('rollback to savepoint report').catch(() => undefined);
  }
}

/** Values and names of what can be chosen. */
export interface Options {
  readonly name: string;
  readonly options: readonly (readonly [value: string, name: string])[];
}

export async function readOptions(client: PoolClient, { choices }: Report): Promise<Options[] | Fault> {
  const options: Options[] = [];
  for (const { name, sql, line } of choices) {
    try {
      const query = { text: sql, rowMode: 'array', queryMode: 'extended' } as const;
      const { rows } = await client.query<[unknown, unknown]>(query);
      options.push({ name, options: rows.map(([value, label]) => [String(value), String(label)]) });
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      return new Fault(error.message, line);
    }
  }
  return options;
}

/** The expressions of a report's sentence, then of its figure. */
function expressionsOf({ says, figure }: Report): Expression[] {
  return [...says, ...(figure?.template ?? [])].filter((part) => typeof part !== 'string');
}

/** The query with the expressions over its rows beside each row, and the line of the file that a position is in. */
function statementOf(report: Report, limit: number): { text: string; lineAt: (position: number) => number } {
  const begin = 'with report as materialized (\n';
  const own = begin + report.sql.trimEnd().replace(/;$/, '');
  const parts: { end: number; line: number }[] = [];
  let told = '';
  for (const [at, { sql, line }] of expressionsOf(report).entries()) {
    told += `${at === 0 ? '\n) select report.*, told.* from report cross join (select ' : ', '}(${sql}) as "told ${at}"`;
    parts.push({ end: own.length + told.length, line });
  }
  return {
    text: `${own}${told === '' ? '\n) select * from report' : `${told} from report) told`} limit ${limit}`,
    lineAt: (position) =>
      position <= own.length
        ? own.slice(begin.length, position - 1).split('\n').length
        : (parts.find(({ end }) => position <= end)?.line ?? 1),
  };
}

function faultOf(error: DatabaseError, lineAt: (position: number) => number): Fault {
  if (error.code === '57014') return new Fault('This takes too long to read: choose fewer days.');
  const message = [error.message, error.hint].filter(Boolean).join('. ');
  return new Fault(message, error.position === undefined ? undefined : lineAt(Number(error.position)));
}

function answerOf({ fields, rows }: QueryResult<Row>, report: Report, limit: number): Answer {
  const all = columnsOf(fields);
  const count = all.length - expressionsOf(report).length;
  const columns = all.slice(0, count);
  for (const { x, y, value, line } of report.draws) {
    const used = [x, ...y.map(({ column }) => column), ...(value ? [value] : [])];
    const missing = used.find((each) => !columns.some(({ name }) => name === each));
    if (missing) throw new Fault(`The query has no column ${missing}.`, line);
  }
  const [first] = rows;
  const told = first
    ? all.slice(count).map(({ name, type }) => ({ text: first[name] ?? null, isNumber: type === 'number' }))
    : [];
  return {
    ...{ columns, rows: rows.slice(0, limit), isCut: rows.length > limit },
    said: report.figure ? told.slice(0, -1) : told,
    figure: report.figure && told.at(-1),
  };
}
