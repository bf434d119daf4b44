import type { Transaction } from '../../db/database.ts';
import { readControl } from '../../ledger/control.ts';
import { countWaiting, listWaiting, type WaitingNumber } from '../../ledger/opt-outs.ts';
import { countOf } from '../../ops/format.ts';
import { commandName } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { type Html, html } from '../html.ts';
import { areWordsShown } from '../row-list.ts';
import { ask, doneNote, section, timeIn } from './frame.ts';
import { pathIn, type View } from './view.ts';

const maxWaiting = 20;

/** Stands over the list of sends: the kill switch, and the numbers that may have opted out. */
export async function aboveSends(tx: Transaction, view: View, done: string | undefined): Promise<Html> {
  return html`${doneNote(done, {
    pause: 'All sends are paused. Requests that were under way finish.',
    resume: 'Sends are resumed, as far as RULES_MODE allows.',
    'opt-out-confirm': 'Recorded as opted out: no automatic text goes to the number, from any line.',
    'opt-out-clear': 'Recorded as no opt-out: rules may answer the next text.',
  })}
${await pauseSwitch(tx, view)}
${await waitingNumbers(tx, view)}`;
}

async function waitingNumbers(tx: Transaction, view: View): Promise<Html> {
  const waiting = await listWaiting(tx, maxWaiting);
  if (waiting.length === 0) return html``;
  const count = waiting.length < maxWaiting ? waiting.length : await countWaiting(tx);
  const isTextShown = await areWordsShown(tx);
  return section(
    `${countOf(count, 'number')} may have opted out`,
    html`<p class="note">No automatic text goes to them until somebody decides, or they write START.</p>
${waiting.map((each) => waitingNumber(each, isTextShown, view))}
${count > waiting.length && html`<p class="note">Only the newest are shown: <code>${commandName} opt-outs list</code> has all of them.</p>`}`,
    'opt-outs',
  );
}

function waitingNumber(waiting: WaitingNumber, isTextShown: boolean, view: View): Html {
  const { number, lines, textCount, lastAt, seenAt, text } = waiting;
  const [line = ''] = lines;
  const path = (decision: string) => `/opt-outs/${number}/${decision}/${seenAt.getTime()}`;
  const words =
    text === null
      ? html`<p class="soft">Its words were removed.</p>`
      : isTextShown
        ? html`<p class="body" dir="auto">${text}</p>`
        : html`<p class="soft">Words are hidden here: <code>${commandName} opt-outs list</code> shows them.</p>`;
  return html`<div class="rule"><h3><a href="${pathIn(view, `/threads/${line}/${number}`)}">${number}</a> <small>to ${lines.join(', ')}, ${timeIn(view.zone, lastAt)}${
    textCount > 1 && `, the last of ${textCount} such texts`
  }</small></h3>${words}<div class="asks">${ask({
    label: 'Decide …',
    question: 'Did they ask to get no more automatic texts?',
    answers: [
      { label: 'Yes, they opted out', action: path('confirm') },
      { label: 'No', action: path('clear') },
    ],
  })}</div></div>`;
}

/** Whether all sends are paused, and the switch. */
async function pauseSwitch(tx: Transaction, view: View): Promise<Html> {
  const { isPaused, reason, since, by } = await readControl(tx);
  const who = by === 'ledger' ? 'by the ledger, until the outcomes are known' : 'by the operator';
  return html`<div class="asks">${
    isPaused
      ? html`<p class="warning">All sends are paused since ${timeIn(view.zone, since)}, ${who}: ${maskNumbers(reason ?? 'no reason given')}</p>${ask(
          {
            label: 'Resume …',
            question: 'Sends that are due go out at once, unless they have expired meanwhile.',
            answers: [{ label: 'Resume all sends', action: '/sends/resume' }],
          },
        )}`
      : ask({
          label: 'Pause all …',
          question: 'No process sends anything until you resume. Planned sends wait until they expire.',
          answers: [{ label: 'Pause all sends', action: '/sends/pause' }],
        })
  }</div>`;
}
