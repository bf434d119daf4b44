import type { Transaction } from '../../db/database.ts';
import { listProposals } from '../../ledger/approvals.ts';
import { readControl } from '../../ledger/control.ts';
import { countWaiting, listWaiting, type WaitingNumber } from '../../ledger/opt-outs.ts';
import { countOf } from '../../ops/format.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, link, section, soft } from '../page.ts';
import { proposalParts } from './send.ts';
import type { View } from './view.ts';

const maxWaiting = 20;

/** Shown above the list of sends: the kill switch, the texts that wait for approval, and the numbers that may have opted out. */
export async function aboveSends(tx: Transaction, view: View): Promise<Html> {
  return html`${await pauseSwitch(tx, view)}
${await proposals(tx, view)}
${await waitingNumbers(tx, view)}`;
}

/** The texts that wait for approval. */
async function proposals(tx: Transaction, view: View): Promise<Html> {
  const waiting = await listProposals(tx, maxWaiting);
  if (waiting.length === 0) return html``;
  const isTextShown = view.areWordsShown;
  return section(
    waiting.length < maxWaiting ? `${countOf(waiting.length, 'reply')} to approve` : 'Replies to approve',
    html`${waiting.map(
      (each) =>
        html`<div class="rule"><h3>${link(`/sends/${each.sendId}`, each.rule)} <small>to ${each.number} from ${each.line}, ${view.time(each.plannedAt)}</small></h3>
${proposalParts(each, isTextShown, view)}</div>`,
    )}
${waiting.length === maxWaiting && html`<p class="note">Only those that expire first are shown: <a href="/sends?state=AWAITING_APPROVAL">all</a>.</p>`}`,
    'to-approve',
  );
}

async function waitingNumbers(tx: Transaction, view: View): Promise<Html> {
  const waiting = await listWaiting(tx, maxWaiting);
  if (waiting.length === 0) return html``;
  const count = waiting.length < maxWaiting ? waiting.length : await countWaiting(tx);
  const isTextShown = view.areWordsShown;
  return section(
    `${countOf(count, 'number')} may have opted out`,
    html`<p class="note">No automatic text goes to them until somebody decides, or they write START.</p>
${waiting.map((each) => waitingNumber(each, isTextShown, view))}
${count > waiting.length && html`<p class="note">Only the newest are shown.</p>`}`,
    'opt-outs',
  );
}

function waitingNumber(waiting: WaitingNumber, isTextShown: boolean, view: View): Html {
  const { number, lines, textCount, lastAt, seenAt, text } = waiting;
  const path = (decision: string) => `/opt-outs/${number}/${decision}/${seenAt.getTime()}`;
  const hidden = html`Words are hidden here: read them at the service.`;
  const words = text !== null && isTextShown && html`<p class="body" dir="auto">${text}</p>`;
  const question = ask({
    label: 'Decide',
    question: 'Did they ask to get no more automatic texts?',
    answers: [
      ['Yes, they opted out', path('confirm')],
      ['No', path('clear')],
    ],
  });
  return html`<div class="rule"><h3>${link(`/threads/${lines[0]}/${number}`, number)} <small>to ${lines.join(', ')}, ${view.time(lastAt)}${
    textCount > 1 && `, the last of ${textCount} such texts`
  }</small></h3>${words || soft(text === null ? 'Its words were removed.' : hidden)}${asks(question)}</div>`;
}

/** Whether all sends are paused, and the button to change it. */
async function pauseSwitch(tx: Transaction, view: View): Promise<Html> {
  const { isPaused, reason, since, by } = await readControl(tx);
  if (!isPaused) {
    return asks(
      ask({
        label: 'Pause all',
        question: 'No process sends anything until you resume. Planned sends wait until they expire.',
        answers: [['Pause all sends', '/sends/pause']],
      }),
    );
  }
  const who = by === 'ledger' ? 'by the ledger, until the outcomes are known' : 'by the operator';
  return asks(
    html`<p class="warning">All sends are paused since ${view.time(since)}, ${who}: ${maskNumbers(reason ?? 'no reason given')}</p>`,
    ask({
      label: 'Resume',
      question: 'Sends that are due go out at once, unless they have expired meanwhile.',
      answers: [['Resume all sends', '/sends/resume']],
    }),
  );
}
