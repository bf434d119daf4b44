import type { Transaction } from '../../db/database.ts';
import { listProposals, type Proposal } from '../../ledger/approvals.ts';
import { readSend, type Send } from '../../ledger/send.ts';
import { isUnsent } from '../../ledger/states.ts';
import { countOf, price, sendCost, sendModeWords, sendWords } from '../../ops/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, facts, link, type RecordPage, section, soft, steps } from '../page.ts';
import type { View } from './view.ts';
import { hiddenWords } from './view.ts';

/** The id of a send in a path. Throws `BadAddress`. */
export function sendIdOf(text: string | undefined): string {
  if (text === undefined || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) {
    throw new BadAddress('There is no such send: its id has 36 characters.', 404);
  }
  return text;
}

/** The page of a send: its text, and its history. */
export async function sendPage(tx: Transaction, id: string, view: View): Promise<RecordPage> {
  const found = await readSend(tx, id);
  if (!found) throw new BadAddress(`There is no send ${id}.`, 404);
  const { send, events } = found;
  const isTextShown = view.areWordsShown;
  const [proposal] = send.state === 'AWAITING_APPROVAL' ? await listProposals(tx, 1, id) : [];
  return {
    title: `Send ${id.slice(0, 8)}`,
    heading: html`Send <span class="soft">${id.slice(0, 8)}</span>`,
    parts: [
      send.state === 'NEEDS_HUMAN' && asks(review(send)),
      proposal !== undefined && section('Waits for approval', proposalParts(proposal, isTextShown, view)),
      isUnsent(send) &&
        !proposal &&
        asks(
          ask({
            label: 'Cancel',
            question: 'No request has left for it yet. Once cancelled, it is never sent.',
            answers: [['Cancel this send', `/sends/${id}/cancel`]],
          }),
        ),
      section(
        'State',
        html`<p><span class="state">${sendWords(send.state, send.reason)}</span>. ${stateWords(send)}</p>
${facts(view, [
  ['rule', link(`/rules?rule=${encodeURIComponent(send.rule)}`, send.rule)],
  ['version', send.ruleVersion],
  ['mode', sendModeWords(send)],
  ['from', send.line],
  ['to', link(`/threads/${send.line}/${send.number}`, send.number)],
  ['answers', trigger(send)],
  ['of', send.trigger.at],
  ['planned', send.plannedAt],
  ['expires', isUnsent(send) && send.expiresAt],
  ['dispatched', send.dispatchedAt],
  ['segments', send.units ?? 'not counted'],
  ['cost', sendCost(send)],
  ['message', send.messageId ?? 'none known'],
  ['tries without effect', send.tries > 0 && send.tries],
])}`,
      ),
      !proposal && section('Text', text(send, isTextShown)),
      section(
        'History',
        steps(
          events.map(({ at, to, reason, actor, by, why }) => [
            view.time(at, true),
            actor,
            html`${sendWords(to, reason)}${by !== null && html` <span class="soft">${by}${why !== null && `: ${why}`}</span>`}`,
          ]),
        ),
      ),
    ],
  };
}

/** What they wrote, the text that would answer it, and the buttons. */
export function proposalParts(proposal: Proposal, isTextShown: boolean, view: View): Html {
  const { sendId, line, number, text, answers, newerCount, expiresAt, seen } = proposal;
  return html`${answers !== null && isTextShown && html`<p class="body soft" dir="auto">${answers}</p>`}
<p class="body" dir="auto">${text}</p>
<p class="note">${newerCount > 0 && html`<span class="warning">They have written ${countOf(newerCount, 'text')} since.</span> `}<a class="link" href="${`/threads/${line}/${number}`}">Read the thread</a>. Without an approval it expires ${view.time(expiresAt)}.</p>
${asks(
  ask({
    label: 'Approve',
    question: 'Exactly this text is sent, if every gate still lets it pass.',
    answers: [['Approve and send', `/sends/${sendId}/approve/${seen}`]],
  }),
  ask({
    label: 'Reject',
    question: 'It is never sent. Answer them yourself if they need an answer.',
    answers: [['Reject this text', `/sends/${sendId}/reject`]],
  }),
)}`;
}

function text({ text }: Send, isTextShown: boolean): Html {
  if (text === '') return soft('Its recipient was erased, so the text was removed.');
  return isTextShown
    ? html`<p class="body">${text}</p>`
    : html`${soft(`${[...text].length} characters`)}${hiddenWords}`;
}

function trigger({ line, number, trigger: { kind, id } }: Send): Html {
  return link(kind === 'call' ? `/calls/${id}` : `/threads/${line}/${number}?text=${id}#text-${id}`, `${kind} ${id}`);
}

/** What comes next. */
function stateWords({ state }: Send): string {
  switch (state) {
    case 'PLANNED':
    case 'RESERVED':
      return 'It leaves within seconds, unless a gate refuses it or sends are paused.';
    case 'AWAITING_APPROVAL':
      return 'It leaves only if a person approves its text.';
    case 'HELD':
      return 'It waits until that ends, or until it is too old.';
    case 'DISPATCHED':
      return 'Its one request is under way.';
    case 'UNKNOWN':
      return 'A request may have left, and its answer was lost. It is looked for in the thread; nothing is sent again.';
    case 'NEEDS_HUMAN':
      return 'It was not found in the thread. Read the thread, and record what happened.';
    default:
      return 'This is final.';
  }
}

function review({ sendId, line, number, reservedMicros }: Send): Html {
  const amount = price(reservedMicros);
  return ask({
    label: 'Settle',
    question: `Read the thread of ${line} with ${number} first. If the text is there, it was sent, and ${amount} count as spent; if not, ${amount} are free again. Nothing is sent either way.`,
    answers: [
      ['It was sent', `/sends/${sendId}/settle/sent`],
      ['It was not sent', `/sends/${sendId}/settle/not-sent`],
    ],
  });
}
