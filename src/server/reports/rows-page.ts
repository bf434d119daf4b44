import { countOf, quantity } from '../../ops/format.ts';
import { type Html, html } from '../html.ts';
import { type Choice, queryOf } from './choice.ts';
import { frame } from './frame.ts';
import type { Option } from './freshness.ts';
import { filterNamesOf, rangeName } from './page.ts';
import { type RowList, type RowSet, rowsPerPage } from './rows.ts';

/** One page of the rows behind a figure. */
export interface RowsPage {
  readonly set: RowSet;
  readonly choice: Choice;
  readonly options: readonly Option[];
  readonly list: RowList;
  /** From 1. */
  readonly page: number;
  /** The number of all rows; undefined when there are too many to count. */
  readonly total: number | undefined;
  /** At most so many rows come as CSV. */
  readonly maxCsvRows: number;
  /** The parameters of these rows, without the page. */
  readonly parameters: string;
}

export function renderRows(shown: RowsPage): string {
  const { set, choice, options, list, total } = shown;
  const about = [rangeName(choice.from, choice.to), ...filterNamesOf(choice, options)].join(' · ');
  const count = total === undefined ? 'too many rows to count' : countOf(total, 'row');
  return frame(
    set.title,
    html`<div class="head"><h1>${set.title}</h1>${csvLink(shown)}</div>
<p class="about">${about} · ${count} · <a class="link" href="/reports?${queryOf(choice)}">Report</a></p>
${list.rows.length === 0 ? html`<p class="hint">No such rows. A figure that was counted a moment ago may have changed since: open the report again.</p>` : table(shown)}
${list.areWordsHidden && html`<p class="note">What people wrote and said is hidden while <code>reporting.params.is_text_shown</code> is false.</p>`}
${pager(shown)}`,
    false,
  );
}

function csvLink({ set, total, maxCsvRows, parameters }: RowsPage): Html {
  if (total !== undefined && total <= maxCsvRows) {
    return html`<a class="link csv" href="/reports/rows.csv?${parameters}" aria-label="${set.title} as CSV">CSV of all rows</a>`;
  }
  return html`<span class="soft">CSV: up to ${quantity(maxCsvRows)} rows, choose fewer days</span>`;
}

function table({ set, list }: RowsPage): Html {
  const { columns, rows } = list;
  const classOf = (at: number) => (columns[at]?.isNumber ? 'number' : columns[at]?.isText ? 'words' : '');
  return html`<div class="card rows" tabindex="0" role="region" aria-label="${set.title}"><table><caption>${set.title}, newest first</caption>
<thead><tr>${columns.map(({ name }, at) => html`<th scope="col" class="${classOf(at)}">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (values) => html`<tr>${values.map((value, at) => html`<td class="${classOf(at)}">${value ?? '–'}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

function pager({ list, page, total, parameters }: RowsPage): Html {
  if (list.rows.length === 0) return html``;
  const first = (page - 1) * rowsPerPage + 1;
  const last = first + list.rows.length - 1;
  const link = (to: number, name: string) =>
    html`<a class="link" href="/reports/rows?${parameters}&amp;page=${to}" rel="${to < page ? 'prev' : 'next'}">${name}</a>`;
  return html`<div class="pager"><span class="soft">${quantity(first)} – ${quantity(last)}${total !== undefined && ` of ${quantity(total)}`}</span>
<nav aria-label="Pages of rows">${page > 1 && link(page - 1, 'Newer')}${(total === undefined ? list.rows.length === rowsPerPage : last < total) && link(page + 1, 'Older')}</nav></div>`;
}
