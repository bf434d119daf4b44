import type { Database } from '../../db/database.ts';
import { listProposals } from '../../ledger/approvals.ts';
import { readControl } from '../../ledger/control.ts';
import { countWaiting } from '../../ledger/opt-outs.ts';
import { countOf } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';
import { asks, link, section } from '../page.ts';
import type { Pages } from '../table.ts';
import { ask } from './forms.ts';
import { proposalParts } from './send.ts';
import type { View } from './view.ts';

const maxShown = 20;

/** Shown above the list of texts: the kill switch, and the replies that wait for approval. */
export async function aboveSends({ db }: Pages, view: View): Promise<Html> {
  const count = await countWaiting(db);
  return html`${await pauseSwitch(db, view)}
${count > 0 && html`<p class="reason">${link('/opt-outs', `${countOf(count, 'number')} may have opted out`)}: no automatic text goes there until somebody decides.</p>`}
${await proposals(db, view)}`;
}

async function proposals(db: Database, view: View): Promise<Html> {
  const waiting = await listProposals(db, maxShown);
  if (waiting.length === 0) return html``;
  return section(
    waiting.length < maxShown ? `${countOf(waiting.length, 'reply')} to approve` : 'Replies to approve',
    html`${waiting.map(
      (each) =>
        html`<div class="rule"><h3>${link(`/sends/${each.sendId}`, each.rule)} <small>to ${each.number} from ${each.line}, ${view.time(each.plannedAt)}</small></h3>
${proposalParts(each, view)}</div>`,
    )}
${waiting.length === maxShown && html`<p class="note">Only those that expire first are shown: ${link('/sends?state=AWAITING_APPROVAL', 'all')}.</p>`}`,
    'to-approve',
  );
}

/** Whether all texts are paused, and the button to change it. */
async function pauseSwitch(db: Database, view: View): Promise<Html> {
  const { isPaused, reason, since, by } = await readControl(db);
  const pause = 'No process sends anything until you resume. Planned texts wait until they expire.';
  const resume = 'Texts that are due go out at once, unless they have expired meanwhile.';
  if (!isPaused)
    return asks(
      ask(view, 'Pause all', pause, { 'Pause all texts': ['sends pause'] }),
      reason !== null && html`<p class="soft">Resumed ${view.time(since)} ${reason}.</p>`,
    );
  const until = by === 'ledger' && ', until the outcomes are known';
  return html`<p class="reason">All texts are paused since ${view.time(since)}${until}: ${reason ?? 'no reason given'}.</p>
${asks(ask(view, 'Resume', resume, { 'Resume all texts': ['sends resume'] }))}`;
}
