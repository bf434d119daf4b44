import { countWaiting, listWaiting, type WaitingNumber } from '../../ledger/opt-outs.ts';
import { countOf } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';
import { asks, link, section, soft } from '../page.ts';
import type { Pages } from '../table.ts';
import { ask } from './forms.ts';
import { bubble } from './send.ts';
import { hiddenWords, type View } from './view.ts';

const maxShown = 20;

/** Shown above the list of opt-outs: the numbers that need a decision. */
export async function aboveOptOuts({ db }: Pages, view: View): Promise<Html> {
  const waiting = await listWaiting(db, maxShown);
  if (waiting.length === 0) return html``;
  const count = waiting.length < maxShown ? waiting.length : await countWaiting(db);
  return section(
    `${countOf(count, 'number')} may have opted out`,
    html`<p class="note">No automatic text goes to them until somebody decides, or they write START.</p>
${waiting.map((each) => waitingNumber(each, view))}
${count > waiting.length && html`<p class="note">Only the newest are shown.</p>`}`,
    'to-decide',
  );
}

function waitingNumber(waiting: WaitingNumber, view: View): Html {
  const { number, lines, textCount, lastAt, seenAt, text } = waiting;
  const about = { number, seen: String(seenAt.getTime()) };
  return html`<div class="rule"><h3>${link(`/threads/${lines[0]}/${number}`, number)} <small>to ${lines.join(', ')}, ${view.time(lastAt)}${
    textCount > 1 && `, the last of ${textCount} such texts`
  }</small></h3>${text === null ? soft('Its words were removed.') : view.areWordsShown ? bubble(text) : hiddenWords}${asks(
    ask(view, 'Decide', 'Did they ask to get no more automatic texts?', {
      'Yes, they opted out': ['opt-outs confirm', about],
      No: ['opt-outs clear', about],
    }),
  )}</div>`;
}
