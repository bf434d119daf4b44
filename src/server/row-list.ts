import type { RawBuilder } from 'kysely';
import { type Database, query, sql } from '../db/database.ts';
import { countOf, quantity } from '../ops/format.ts';
import { known, part, readWithTimeout } from '../ops/snapshot.ts';
import { BadAddress, limited } from './answering.ts';
import { type Html, html } from './html.ts';
import { partyOf } from './records/words.ts';

export type Condition = RawBuilder<unknown>;

/** The values of a row, by column key. Null if not reported. */
export type Row = Readonly<Record<string, string | null>>;

/** A column of a table of rows. */
export interface RowColumn {
  /** Its name in the CSV. */
  readonly key: string;
  readonly name: string;
  /** Its value, computed from `r` and the relations in `joins`. */
  readonly value: Condition;
  /** Numbers are aligned right. */
  readonly isNumber?: boolean;
  /** What people wrote or said. Left out unless `reporting.params.is_text_shown`. */
  readonly isText?: boolean;
  /** Longer texts, which may take several lines. */
  readonly isWide?: boolean;
  /** For programs. Not shown on the page. */
  readonly isCsvOnly?: boolean;
  /** How the page shows a value. The CSV has it in full. */
  readonly show?: (value: string, row: Row) => string;
  /** The page that the value links to. */
  readonly link?: (row: Row) => string | undefined;
}

/** What rows are read from. */
export interface RowSource {
  readonly columns: readonly RowColumn[];
  /** `from … r where …` */
  readonly from: Condition;
  /** `order by …`, of `r`. */
  readonly order: Condition;
  /** Relations that provide names. Only joined to the rows of one page. */
  readonly joins?: Condition | undefined;
}

/** Rows as texts. */
export interface RowList {
  readonly columns: readonly RowColumn[];
  readonly rows: readonly Row[];
  /** Whether texts were left out. */
  readonly areWordsHidden: boolean;
}

export const rowsPerPage = 100;
/** Maximum rows of a CSV. */
export const maxCsvRows = 20_000;
/** The last row that a page can show. */
const lastRow = 100_000;

export const column = (key: string, name: string, value: Condition = sql`r.${sql.ref(key)}`): RowColumn => ({
  key,
  name,
  value,
});
export const count = (key: string, name: string, value?: Condition): RowColumn => ({
  ...column(key, name, value),
  isNumber: true,
});

/** A column for programs. */
export const csvOnly = (each: RowColumn): RowColumn => ({ ...each, isCsvOnly: true });

/** The name of a number by the imported contacts. */
export const contactName = (number: Condition) =>
  sql`(select k.name from warehouse.contacts k where k.number = warehouse.contact_number(${number}))`;

/** The number of another party, which the page shows with its name by the imported contacts. */
export const otherParty = (key: string, name: string, number: Condition = sql`r.${sql.ref(key)}`): RowColumn[] => [
  { ...column(key, name, number), show: (value, row) => partyOf(row.contact_name ?? null, value) ?? value },
  csvOnly(column('contact_name', 'Contact', contactName(number))),
];

/** A time for programs, and as shown in a zone. */
export const utcTime = (moment: Condition) => sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
export const localTime = (moment: Condition, zone: Condition) =>
  sql`to_char(${moment} at time zone ${zone}, 'YYYY-MM-DD HH24:MI:SS')`;

/** Whether pages show what people wrote and said. */
export async function areWordsShown(db: Database): Promise<boolean> {
  const [params] = await query<{ is_text_shown: boolean }>(db, sql`select is_text_shown from reporting.params`);
  return params?.is_text_shown ?? false;
}

/** Reads at most `limit` rows. */
export async function readRowList(
  db: Database,
  { columns, from, order, joins = sql`` }: RowSource,
  { limit, offset = 0 }: { limit: number; offset?: number },
): Promise<RowList> {
  const isTextShown = await areWordsShown(db);
  const shown = columns.filter(({ isText }) => isTextShown || !isText);
  const values = shown.map(({ key, value }) => sql`(${value})::text as ${sql.ref(key)}`);
  const rows = await query<Row>(
    db,
    sql`select ${sql.join(values)} from (select r.* ${from} ${order} limit ${limit} offset ${offset}) r ${joins} ${order}`,
  );
  return { columns: shown, rows, areWordsHidden: shown.length < columns.length };
}

/** Reads all rows, for programs. If there are too many, tells the reader to narrow the filter. */
export async function readAll(connection: Database, source: RowSource): Promise<RowList> {
  const list = await limited(connection, (tx) => readRowList(tx, source, { limit: maxCsvRows + 1 }));
  if (list.rows.length <= maxCsvRows) return list;
  throw new BadAddress(`These are more than ${maxCsvRows} rows: choose fewer days or a filter.`);
}

export async function readCsv(connection: Database, source: RowSource): Promise<string> {
  const { columns, rows } = await readAll(connection, source);
  const keys = columns.map(({ key }) => key);
  return csvOfLines([keys, ...rows.map((row) => keys.map((key) => row[key] ?? null))]);
}

/** Reads a page of rows, and counts all of them, up to `maxCounted`. */
export async function readPage(
  connection: Database,
  source: RowSource,
  { page, maxCounted }: { page: number; maxCounted: number },
): Promise<Pick<ShownRows, 'list' | 'page' | 'total'>> {
  const window = { limit: rowsPerPage, offset: (page - 1) * rowsPerPage };
  const list = await limited(connection, (tx) => readRowList(tx, source, window));
  const counted = await part(() =>
    readWithTimeout(connection, (tx) =>
      query<{ found: number }>(
        tx,
        sql`select count(*)::integer as found from (select 1 ${source.from} limit ${maxCounted + 1}) counted`,
      ),
    ),
  );
  const found = known(counted, [])[0]?.found ?? Number.POSITIVE_INFINITY;
  return { list, page, total: found <= maxCounted ? found : undefined };
}

/** The page number in an address, from 1. */
export function pageNumberOf(value: unknown): number {
  const page = Number(value ?? 1);
  const last = lastRow / rowsPerPage;
  if (!Number.isInteger(page) || page < 1 || page > last) {
    throw new BadAddress(`page must be a number from 1 to ${last}.`);
  }
  return page;
}

/**
 * CSV (RFC 4180). Values that a spreadsheet would take for a formula get a leading apostrophe: at the start of a value,
 * and after `;`, a tab or a line break, where a spreadsheet with that separator starts a cell. Full-width signs count
 * too, because some spreadsheets normalise them.
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

/** One page of rows. */
export interface ShownRows {
  readonly title: string;
  readonly list: RowList;
  /** The path where they are served. Their CSV is at this path with `.csv`. */
  readonly path: string;
  /** The parameters of their address, without the page number. */
  readonly parameters: string;
  /** From 1. */
  readonly page: number;
  /** The number of all rows. Undefined if there are too many to count. */
  readonly total: number | undefined;
}

export function renderRows({ title, list }: Pick<ShownRows, 'title' | 'list'>): Html {
  const columns = list.columns.filter(({ isCsvOnly }) => !isCsvOnly);
  const classOf = ({ isNumber, isText, isWide }: RowColumn) => (isNumber ? 'number' : isText || isWide ? 'words' : '');
  return html`<div class="card rows" tabindex="0" role="region" aria-label="${title}"><table><caption>${title}</caption>
<thead><tr>${columns.map((each) => html`<th scope="col" class="${classOf(each)}">${each.name}</th>`)}</tr></thead>
<tbody>${list.rows.map(
    (row) => html`<tr>${columns.map((each) => html`<td class="${classOf(each)}">${cell(each, row)}</td>`)}</tr>`,
  )}</tbody></table></div>
${list.areWordsHidden && hiddenWords}`;
}

function cell({ key, show = (value) => value, link }: RowColumn, row: Row): Html {
  const value = row[key] ?? null;
  if (value === null) return html`–`;
  const address = link?.(row);
  return address === undefined ? html`${show(value, row)}` : html`<a href="${address}">${show(value, row)}</a>`;
}

/** Says that texts are left out, and which setting shows them. */
export const hiddenWords = html`<p class="note">What people wrote and said is hidden. To show it here and to BI, run <code>update reporting.params set is_text_shown = true</code> in the database.</p>`;

/** Links to the previous and next rows. */
export function renderPager({ list, path, page, total, parameters }: ShownRows): Html {
  if (list.rows.length === 0) return html``;
  const first = (page - 1) * rowsPerPage + 1;
  const last = first + list.rows.length - 1;
  const link = (to: number, name: string) =>
    html`<a class="link" href="${`${path}?${parameters}&page=${to}`}" rel="${to < page ? 'prev' : 'next'}">${name}</a>`;
  return html`<div class="pager"><span class="soft">${quantity(first)} – ${quantity(last)}${total !== undefined && ` of ${quantity(total)}`}</span>
<nav aria-label="Pages of rows">${page > 1 && link(page - 1, 'Newer')}${(total === undefined ? list.rows.length === rowsPerPage : last < total) && link(page + 1, 'Older')}</nav></div>`;
}

/** How many rows there are. */
export function countWords(total: number | undefined): string {
  return total === undefined ? 'too many rows to count' : countOf(total, 'row');
}

/** The link to the CSV of all rows. */
export function csvLink({ title, path, total, parameters }: ShownRows): Html {
  if (total === undefined || total > maxCsvRows) {
    return html`<span class="soft">CSV: up to ${quantity(maxCsvRows)} rows, choose fewer days</span>`;
  }
  return html`<a class="link csv" href="${`${path}.csv?${parameters}`}" aria-label="${title} as CSV">CSV of all rows</a>`;
}
