import { sql, type Transaction } from '../../db/database.ts';
import { BadAddress, type Parameters, textOf } from '../answering.ts';
import { dayField, type Html, html, select } from '../html.ts';
import {
  type Condition,
  column,
  countWords,
  csvLink,
  csvOnly,
  localTime,
  type RowColumn,
  type RowSource,
  renderPager,
  renderRows,
  type ShownRows,
  utcTime,
} from '../row-list.ts';
import { doneNote, frame } from './page-parts.ts';
import { type Range, rangeOf, type SpanName, spans, type View } from './view.ts';

/** A filter of a list, and its parameter in the address. */
export interface ListFilter {
  readonly name: string;
  readonly label: string;
  /** The options: value and label. Without options, the value is typed. */
  readonly options?: Readonly<Record<string, string>>;
  readonly placeholder?: string;
  /** The default if the address has no value. */
  readonly usual?: string;
  /** The condition for a value. Throws `BadAddress` for an invalid value. */
  readonly where: (value: string) => Condition | undefined;
}

export interface ListColumn extends RowColumn {
  /** A time: shown in TIME_ZONE, with an additional UTC column for programs. */
  readonly isMoment?: boolean;
}

export const moment = (key: string, name: string, value: Condition): ListColumn => ({
  ...column(key, name, value),
  isMoment: true,
});

/** A list of rows with filters, as a page, CSV and JSON. */
export interface ListDefinition {
  readonly path: string;
  /** The path of its entry in the header. Default: its own path. */
  readonly current?: string;
  readonly title: string;
  /** What its rows are, in a sentence or two. */
  readonly about: Html;
  readonly filters: readonly ListFilter[];
  /** The default time span. Undefined: the list has no time filter. */
  readonly span: SpanName | undefined;
  readonly columns: readonly ListColumn[];
  readonly rows: (choice: ListChoice) => Omit<RowSource, 'columns'>;
  /** Shown above its rows, such as actions that affect all of them. */
  readonly above?: (tx: Transaction, view: View) => Promise<Html>;
  /** What an empty list means, and what comes next. */
  readonly empty: Html;
}

/** What an address asks of a list. */
export interface ListChoice {
  readonly view: View;
  readonly range: Range;
  /** The conditions of its filters, by name. */
  readonly where: ReadonlyMap<string, Condition>;
  /** The filters with a value. */
  readonly values: ReadonlyMap<string, string>;
  /** All of it as parameters, without the page number. */
  readonly parameters: string;
}

/** The choice in an address. Throws `BadAddress`. */
export function choiceOf({ filters, span }: ListDefinition, query: Parameters, view: View): ListChoice {
  const range = rangeOf(span === undefined ? {} : query, span ?? 'all');
  const values = new Map<string, string>();
  const where = new Map<string, Condition>();
  for (const filter of filters) {
    const given = textOf(query, filter.name);
    const value = given ?? filter.usual;
    if (value === undefined) continue;
    if (filter.options && !Object.hasOwn(filter.options, value)) {
      throw new BadAddress(`${filter.name} must be one of ${Object.keys(filter.options).join(', ')}.`);
    }
    const condition = filter.where(value);
    if (condition) where.set(filter.name, condition);
    if (given !== undefined) values.set(filter.name, given);
  }
  const { from, to } = range;
  const parameters = new URLSearchParams([
    ...values,
    ...(range.span === span ? [] : [['span', range.span]]),
    ...(from === undefined ? [] : [['from', from]]),
    ...(to === undefined ? [] : [['to', to]]),
  ] as [string, string][]).toString();
  return { view, range, where, values, parameters };
}

/** Where the rows of a choice are read from. */
export function sourceOf({ columns, rows }: ListDefinition, choice: ListChoice): RowSource {
  return { columns: columns.flatMap((each) => columnsIn(choice.view, each)), ...rows(choice) };
}

function columnsIn(view: View, each: ListColumn): RowColumn[] {
  const { key, name, value, isMoment } = each;
  if (isMoment) {
    return [
      column(`${key}_local`, name, localTime(value, sql`${view.zone}`)),
      csvOnly(column(`${key}_at`, `${name} (UTC)`, utcTime(value))),
    ];
  }
  return [each];
}

/** A page of a list. `done` is the message of the action that led here. */
export function renderList(
  list: ListDefinition,
  choice: ListChoice,
  {
    rows,
    above,
    done,
  }: {
    rows: Pick<ShownRows, 'list' | 'page' | 'total'>;
    above: Html | undefined;
    done: string | undefined;
  },
): string {
  const { title, path, about } = list;
  const shown: ShownRows = { ...rows, title, path, parameters: choice.parameters };
  return frame({
    title,
    current: list.current ?? path,
    content: html`<div class="head"><h1>${title}</h1>${csvLink(shown)}</div>
<p class="about prose">${about}</p>
${doneNote(done)}
${above}
${form(list, choice)}
<p class="note counted" id="counted">${rangeWords(list, choice)}${countWords(rows.total)} · times of ${choice.view.zone}</p>
${shown.list.rows.length === 0 ? nothing(list, choice) : renderRows(shown)}
${renderPager(shown)}`,
  });
}

function rangeWords({ span }: ListDefinition, { range: { span: chosen, from, to } }: ListChoice): string {
  if (span === undefined) return '';
  if (from === undefined && to === undefined) return `${spans[chosen].name} · `;
  if (from === to) return `${from} · `;
  return `${from === undefined ? '' : `from ${from} `}${to === undefined ? '' : `to ${to} `}· `;
}

function nothing(list: ListDefinition, { values, range }: ListChoice): Html {
  const isNarrow = values.size > 0 || range.from !== undefined || range.to !== undefined;
  const all = list.span === undefined ? list.path : `${list.path}?span=all`;
  const isAll = list.span === undefined || range.span === 'all';
  return html`<div class="card empty-list"><p>${isNarrow ? html`No row fits these filters.` : list.empty}</p>${
    (isNarrow || !isAll) && html`<p><a class="link" href="${all}">Show all that is kept</a></p>`
  }</div>`;
}

function form({ path, filters, span }: ListDefinition, { values, range, parameters }: ListChoice): Html {
  const hasDays = range.from !== undefined || range.to !== undefined;
  return html`<form class="filters" action="${path}" aria-label="Filters">
${filters.map((filter) => field(filter, values.get(filter.name) ?? filter.usual))}
${
  span !== undefined &&
  select(
    'span',
    'Time',
    range.span,
    Object.entries(spans).map(([value, { name }]) => [value, name]),
  )
}
<div class="buttons"><button>Show</button>${parameters !== '' && html`<a class="link" href="${path}">Reset</a>`}</div>
${
  span !== undefined &&
  html`<details class="more"${hasDays && html` open`}><summary>Days</summary><div class="filters">
${dayField('from', range.from)}${dayField('to', range.to)}</div></details>`
}
</form>`;
}

function field({ name, label, options, placeholder }: ListFilter, value: string | undefined): Html {
  if (options) return select(name, label, value, Object.entries(options));
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></div>`;
}
