import type { FastifyReply } from 'fastify';
import type { RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import type { Database } from '../db/database.ts';
import { toTheSecond } from '../shared/format.ts';
import { type Html, html } from './html.ts';
import { codes, headingOf, unitOf, writtenNumber } from './words.ts';

export type Condition = RawBuilder<unknown>;

/** Where pages read: a pool of their own that can only read. */
export interface Pages {
  readonly db: Database;
  readonly pool: Pool;
  /** TIME_ZONE: of all times that pages show. */
  readonly zone: string;
}

export interface Column {
  readonly name: string;
  readonly type: 'number' | 'date' | 'moment' | 'boolean' | 'text';
}

/** Rows as Postgres writes them, with the names and types of their columns from the result. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** The values of a row by the name of their column. */
export type Row = Readonly<Record<string, string | null>>;

const types: Readonly<Record<number, Column['type']>> = {
  ...{ 16: 'boolean', 20: 'number', 21: 'number', 23: 'number', 700: 'number', 701: 'number', 1700: 'number' },
  ...{ 1082: 'date', 1114: 'moment', 1184: 'moment' },
};
export const asTexts = { getTypeParser: () => String };

/** The columns of a result. */
export function columnsOf(fields: readonly { readonly name: string; readonly dataTypeID: number }[]): Column[] {
  return fields.map(({ name, dataTypeID }) => ({ name, type: types[dataTypeID] ?? 'text' }));
}

/** Runs a statement and takes its columns from the result. */
export async function readTable({ db, pool }: Pages, statement: RawBuilder<unknown>): Promise<Table> {
  const { sql: text, parameters } = statement.compile(db);
  const { fields, rows } = await pool.query<Row>({ text, values: [...parameters], types: asTexts });
  return { columns: columnsOf(fields), rows };
}

/** How a page shows the columns of a table, where their names and types don't say it. */
export interface Shown {
  /** Columns that only programs get. */
  readonly hidden?: readonly string[];
  readonly show?: Readonly<Record<string, (value: string, row: Row) => Html | string>>;
  /** The page that the first column of a row leads to. Default: that of its call, text or thread. */
  readonly opens?: (row: Row) => string | undefined;
}

/** Columns with keys, in no table for people. */
const keys = /^whole_|_key$|^(call|send|run)_id$|^thread$/;
const pageOf = ({ call_id, send_id, thread }: Row) =>
  call_id ? `/calls/${call_id}` : send_id ? `/sends/${send_id}` : thread ? `/threads/${thread}` : undefined;

/** Texts that are longer take several lines. */
const lineLength = 40;

export function renderTable(title: string, { columns, rows }: Table, shown: Shown, zone: string): Html {
  const seen = columns.filter(({ name }) => !keys.test(name) && !shown.hidden?.includes(name));
  const wordsOf = (name: string, row: Row) => {
    const own = row[name] && shown.show?.[name]?.(row[name], row);
    return typeof own === 'string' ? own : (row[name] ?? '');
  };
  const isWide = (name: string) => rows.some((row) => wordsOf(name, row).length > lineLength);
  const classes = new Map(seen.map(({ name, type }) => [name, type === 'number' ? type : isWide(name) ? 'words' : '']));
  const { opens = pageOf } = shown;
  const cells = (row: Row) =>
    seen.map((column, at) => {
      const content = cellOf(column, row, shown, zone);
      const page = at === 0 ? opens(row) : undefined;
      return html`<td class="${classes.get(column.name)}" data-name="${headingOf(column.name)}"${row[column.name] === null && html` data-none`}>${page === undefined ? content : html`<a href="${page}">${content}</a>`}</td>`;
    });
  return html`<div class="card rows" tabindex="0" role="region" aria-label="${title}"><table><caption>${title}</caption>
<thead><tr>${seen.map((each) => html`<th scope="col" class="${classes.get(each.name)}">${headingOf(each.name)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>`)}</tbody></table></div>`;
}

function cellOf({ name, type }: Column, row: Row, { show }: Shown, zone: string): Html | string {
  const value = row[name] ?? null;
  if (value === null) return '–';
  const own = show?.[name]?.(value, row);
  if (own !== undefined) return own;
  const words = codes[name]?.[value];
  if (words !== undefined) return words;
  if (type === 'boolean') return value === 't' ? 'yes' : 'no';
  if (type === 'number') return writtenNumber(value, unitOf(name).unit);
  if (type !== 'moment') return value;
  const at = new Date(value);
  return html`<time datetime="${at.toISOString()}">${toTheSecond(at, zone).slice(0, 19)}</time>`;
}

/** Rows for programs: numbers and booleans as such, moments in UTC. */
export function jsonOf({ columns, rows }: Table): Record<string, unknown>[] {
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column.name, typedValue(column, row)])));
}

function typedValue({ name, type }: Column, row: Row): unknown {
  const value = row[name] ?? null;
  if (value === null) return null;
  if (type === 'boolean') return value === 't';
  if (type === 'moment') return new Date(value).toISOString();
  return type === 'number' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Maximum rows that a file or a program gets at once. */
export const maxRows = 20_000;

/** CSV (RFC 4180), for programs and spreadsheets. */
export function csvOf(table: Table): string {
  const lines = jsonOf(table).map((row) => Object.values(row).map((value) => (value === null ? null : String(value))));
  return csvOfLines([table.columns.map(({ name }) => name), ...lines]);
}

/**
 * Values that a spreadsheet would take for a formula get a leading apostrophe: at the start of a value, and after `;`,
 * a tab or a line break, where a spreadsheet with that separator starts a cell. Full-width signs count too, because
 * some spreadsheets normalise them.
 */
export function csvOfLines(lines: readonly (readonly (string | null)[])[]): string {
  const field = (value: string | null) => {
    if (value === null || /^-?[\d.]+$/.test(value)) return value ?? '';
    const begun = /^[\t\r]/.test(value) ? `'${value}` : value;
    const safe = begun.replace(/(^|[;\t\r\n])( *[=+\-@＝＋－＠])/g, "$1'$2");
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return lines.map((fields) => `${fields.map(field).join(',')}\r\n`).join('');
}

/** Answers with a file that spreadsheets open. Without a byte order mark, Excel assumes another encoding. */
export function sendCsv(reply: FastifyReply, name: string, csv: string): FastifyReply {
  reply.type('text/csv; charset=utf-8; header=present');
  return reply.header('content-disposition', `attachment; filename="${name}.csv"`).send(`\ufeff${csv}`);
}
