import { countOf } from '../../ops/format.ts';
import { html } from '../html.ts';
import { csvLink, renderPager, renderRows, type ShownRows } from '../row-list.ts';
import { type Choice, queryOf } from './choice.ts';
import { frame } from './frame.ts';
import type { Option } from './freshness.ts';
import { filterNamesOf, rangeName } from './page.ts';

/** One page of the rows behind a figure. */
export interface RowsPage extends ShownRows {
  readonly choice: Choice;
  readonly options: readonly Option[];
}

export function renderRowsPage(shown: RowsPage): string {
  const { title, choice, options, list, total } = shown;
  const about = [rangeName(choice.from, choice.to), ...filterNamesOf(choice, options)].join(' · ');
  const count = total === undefined ? 'too many rows to count' : countOf(total, 'row');
  return frame(
    title,
    html`<div class="head"><h1>${title}</h1>${csvLink(shown)}</div>
<p class="about">${about} · ${count} · <a class="link" href="/reports?${queryOf(choice)}">Report</a></p>
${list.rows.length === 0 ? html`<p class="hint">No such rows. A figure that was counted a moment ago may have changed since: open the report again.</p>` : renderRows({ title: `${title}, newest first`, list })}
${renderPager(shown)}`,
    false,
  );
}
