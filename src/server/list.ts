import type { FastifyInstance } from 'fastify';
import { sql } from '../db/database.ts';
import { type Parameters, type Range, rangeOf, type SpanName, spans, textOf, within } from './address.ts';
import { signInOf } from './auth.ts';
import { BadAddress } from './errors.ts';
import { type Html, html } from './html.ts';
import type { listNames } from './list-names.ts';
import { answerPage, dayField, renderPage, select } from './page.ts';
import { doneSentence } from './records/actions.ts';
import type { View } from './records/view.ts';
import {
  type Condition,
  csvOf,
  jsonOf,
  maxRows,
  type Pages,
  readTable,
  renderTable,
  type Shown,
  sendCsv,
  type Table,
} from './table.ts';

/** A filter of a list, and its parameter in the address. */
export interface Filter {
  readonly label: string;
  /** The options: value and label. Without options, the value is typed. */
  readonly options?: Readonly<Record<string, string>>;
  readonly placeholder?: string;
  /** The default if the address has no value. */
  readonly usual?: string;
  /** The condition on `r` for a value. Throws `BadAddress` for an invalid value. */
  readonly where: (value: string) => Condition;
}

/** A list of rows with filters: served as page, CSV and JSON, and printed by `trunkline list`. */
export interface List extends Shown {
  /** Its path without the slash, and its name for the command. */
  readonly name: (typeof listNames)[number];
  /** The path of its entry in the menu. Default: its own path. */
  readonly current?: string;
  readonly title: string;
  /** What its rows are, in a sentence or two. */
  readonly about: Html;
  /** The relation `r`: a table or view, or a statement in brackets. */
  readonly from: Condition;
  /** The columns, for the rows of one page only. They may use `r` and what `joins` adds. */
  readonly select: Condition;
  readonly joins?: Condition;
  readonly order: Condition;
  /** The column that a time range is about, and the default range. Without it, the list has none. */
  readonly at?: { readonly column: Condition; readonly span: SpanName };
  readonly filters: Readonly<Record<string, Filter>>;
  /** Columns with what people wrote: left out where pages hide it. */
  readonly words?: readonly string[];
  /** Shown above its rows, such as actions that affect all of them. */
  readonly above?: (pages: Pages, view: View, query: Parameters) => Promise<Html>;
  /** What an empty list means, and what comes next. */
  readonly empty: Html;
}

const rowsPerPage = 100;
const lastPage = 1_000;

/** What an address asks of a list. */
interface Choice {
  readonly range: Range;
  readonly where: readonly Condition[];
  /** The filters with a value. */
  readonly values: ReadonlyMap<string, string>;
  /** All of it as parameters, without the page number. */
  readonly parameters: string;
}

/** The choice in an address. Throws `BadAddress`. */
function choiceOf({ filters, at }: List, query: Parameters, zone: string): Choice {
  const range = rangeOf(at ? query : {}, at?.span ?? 'all');
  const values = new Map<string, string>();
  const where = at ? within(range, at.column, zone) : [];
  for (const [name, { options, usual, where: conditionOf }] of Object.entries(filters)) {
    const given = textOf(query, name);
    const value = given ?? usual;
    if (value === undefined) continue;
    if (options && !Object.hasOwn(options, value))
      throw new BadAddress(`${name} must be one of ${Object.keys(options).join(', ')}.`);
    where.push(conditionOf(value));
    if (given !== undefined) values.set(name, given);
  }
  const parameters = new URLSearchParams([...values]);
  for (const [name, value] of Object.entries(at ? range : {}))
    if (value !== undefined && value !== at?.span) parameters.set(name, value);
  return { range, where, values, parameters: parameters.toString() };
}

/** The rows of a list that `query` chooses, as programs get them. Throws `BadAddress`. */
export async function readList(list: List, pages: Pages, query: Parameters): Promise<Table> {
  const table = await readRows(list, pages, choiceOf(list, query, pages.zone), { limit: maxRows + 1, offset: 0 });
  if (table.rows.length <= maxRows) return table;
  throw new BadAddress(`These are more than ${maxRows} rows: choose fewer days or a filter.`);
}

/** Computes the columns of the chosen rows only, after the order and the limit, which an index serves. */
function readRows(list: List, pages: Pages, { where }: Choice, window: { limit: number; offset: number }) {
  const { from, select, joins = sql``, order } = list;
  const conditions = where.length > 0 ? sql`where ${sql.join([...where], sql` and `)}` : sql``;
  return readTable(
    pages,
    sql`select ${select} from (select r.* from ${from} r ${conditions} order by ${order} limit ${window.limit} offset ${window.offset}) r ${joins} order by ${order}`,
  );
}

/** Serves a list as page, CSV and JSON. */
export function serveList(app: FastifyInstance, pages: Pages, list: List, view: View): void {
  const path = `/${list.name}`;
  const hidden = view.areWordsShown ? [] : (list.words ?? []);
  const withoutWords = ({ columns, rows }: Table): Table => ({
    columns: columns.filter(({ name }) => !hidden.includes(name)),
    rows,
  });

  app.get<{ Querystring: Parameters }>(path, async (request, reply) => {
    const { query } = request;
    const choice = choiceOf(list, query, pages.zone);
    const page = pageNumberOf(query.page);
    const window = { limit: rowsPerPage + 1, offset: (page - 1) * rowsPerPage };
    const found = withoutWords(await readRows(list, pages, choice, window));
    const above = await list.above?.(pages, { ...view, user: signInOf(request).user }, query);
    const table = { ...found, rows: found.rows.slice(0, rowsPerPage) };
    const csv = html`<a class="link" href="${path}.csv?${choice.parameters}" aria-label="${list.title} as CSV">CSV</a>`;
    return answerPage(
      reply,
      renderPage({
        title: list.title,
        current: list.current ?? path,
        about: list.about,
        beside: csv,
        done: doneSentence(query),
        parts: [
          above,
          formOf(list, choice),
          table.rows.length === 0 ? nothing(list, choice) : renderTable(list.title, table, list, pages.zone),
          pagerOf(path, choice, page, found.rows.length > rowsPerPage),
        ],
      }),
    );
  });
  app.get<{ Querystring: Parameters }>(`${path}.csv`, async ({ query }, reply) =>
    sendCsv(reply, list.name.replaceAll('/', '-'), csvOf(withoutWords(await readList(list, pages, query)))),
  );
  app.get<{ Querystring: Parameters }>(`${path}.json`, async ({ query }) =>
    jsonOf(withoutWords(await readList(list, pages, query))),
  );
}

function pageNumberOf(value: unknown): number {
  const page = Number(value ?? 1);
  if (Number.isInteger(page) && page >= 1 && page <= lastPage) return page;
  throw new BadAddress(`page must be a number from 1 to ${lastPage}.`);
}

function nothing({ name, at, empty }: List, { parameters, range }: Choice): Html {
  const all = (parameters !== '' || range.span !== 'all') && `/${name}${at ? '?span=all' : ''}`;
  return html`<div class="card"><p>${parameters === '' ? empty : 'No row fits these filters.'}</p>${
    all && html`<p><a class="link" href="${all}">Show all that is kept</a></p>`
  }</div>`;
}

function formOf({ name, filters, at }: List, { values, range, parameters }: Choice): Html | undefined {
  const all = Object.entries(filters);
  if (all.length === 0 && at === undefined) return undefined;
  const options = Object.entries(spans).map(([value, each]) => [value, each.name] as const);
  return html`<form class="filters" action="/${name}" aria-label="Filters">
${all.map(([key, filter]) => fieldOf(key, filter, values.get(key) ?? filter.usual))}
${at && html`${select('span', 'Time', range.span, options)}${dayField('from', range.from)}${dayField('to', range.to)}`}
<div class="buttons"><button>Show</button>${parameters !== '' && html`<a class="link" href="/${name}">Reset</a>`}</div>
</form>`;
}

function fieldOf(name: string, { label, options, placeholder, usual }: Filter, value: string | undefined): Html {
  if (options)
    return select(name, label, value, [
      ...(usual === undefined ? [['', 'any'] as const] : []),
      ...Object.entries(options),
    ]);
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></div>`;
}

function pagerOf(path: string, { parameters }: Choice, page: number, hasMore: boolean): Html {
  const link = (to: number, rel: string, name: string) =>
    html`<a class="link" href="${`${path}?${parameters}&page=${to}`}" rel="${rel}">${name}</a>`;
  return html`<nav class="turn" aria-label="Pages of rows">${page > 1 && link(page - 1, 'prev', 'Newer')}${hasMore && link(page + 1, 'next', 'Older')}</nav>`;
}
