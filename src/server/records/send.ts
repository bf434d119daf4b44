import type { Transaction } from '../../db/database.ts';
import { listProposals, type Proposal } from '../../ledger/approvals.ts';
import { maxSegments } from '../../ledger/budgets.ts';
import { readSend, type Send, type SendState } from '../../ledger/send.ts';
import { isUnsent } from '../../ledger/states.ts';
import { sendCost, sendModeWords, sendReasonWords, sendWords } from '../../ledger/words.ts';
import { countOf, price } from '../../shared/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html, verbatim } from '../html.ts';
import { asks, factsOf, link, type RecordPage, section, soft, steps } from '../page.ts';
import { ask } from './forms.ts';
import { hiddenWords, type View } from './view.ts';

/** The id of a send in a path. Throws `BadAddress`. */
export function sendIdOf(text: string | undefined): string {
  if (text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text;
  throw new BadAddress('There is no such send: its id has 36 characters.', 404);
}

/** The page of a text of a rule: what came of it, whom it answers, and its history. */
export async function sendPage(tx: Transaction, id: string, view: View): Promise<RecordPage> {
  const found = await readSend(tx, id);
  if (!found) throw new BadAddress(`There is no send ${id}.`, 404);
  const { send, events } = found;
  const [proposal] = send.state === 'AWAITING_APPROVAL' ? await listProposals(tx, 1, id) : [];
  const { line, number, trigger } = send;
  const isCall = trigger.kind === 'call';
  const page = isCall ? `/calls/${trigger.id}` : `/threads/${line}/${number}?text=${trigger.id}#text-${trigger.id}`;
  const rule = link(`/rules?rule=${encodeURIComponent(send.rule)}`, send.rule);
  return {
    title: titleOf(send),
    about: html`By the rule ${rule}, to ${link(`/threads/${line}/${number}`, number)} from ${line}, about ${link(page, isCall ? 'a call' : 'a text')} of ${view.time(trigger.at)}.`,
    parts: [
      proposal !== undefined && section('Does this leave?', proposalParts(proposal, view)),
      send.state === 'NEEDS_HUMAN' && asks(review(send, view)),
      !proposal && wordsOf(send, view),
      isUnsent(send) &&
        !proposal &&
        asks(
          ask(view, 'Cancel', 'No request has left for it yet. Once cancelled, it is never sent.', {
            'Cancel this text': ['sends cancel', { id }],
          }),
        ),
      section(
        'What happened',
        steps(
          events.map(({ at, to, reason, actor, by, why }) => [
            view.time(at),
            by ?? actor,
            html`${sendWords(to, reason)}${why !== null && html` <span class="soft">${why}</span>`}`,
          ]),
        ),
      ),
      html`<details><summary>For operators</summary>${factsOf(view, {
        id,
        version_of_the_rules: send.ruleVersion,
        mode: sendModeWords(send),
        planned: send.plannedAt,
        expires: isUnsent(send) && send.expiresAt,
        dispatched: send.dispatchedAt,
        segments: send.units ?? 'not counted',
        cost: sendCost(send),
        message: send.messageId ?? 'none known',
        tries_without_effect: send.tries > 0 && send.tries,
      })}</details>`,
    ],
  };
}

const titles: Readonly<Partial<Record<SendState, string>>> = {
  AWAITING_APPROVAL: 'This text waits for somebody’s approval',
  DISPATCHED: 'This text is on its way',
  UNKNOWN: 'The answer to this text was lost: it is looked for in the thread, and nothing is sent again',
  NEEDS_HUMAN: 'This text was not found in the thread: read it, and say what happened',
  SENT: 'This text was sent',
};

/** What came of it, in a sentence. */
function titleOf({ state, reason }: Send): string {
  if (reason === 'dry_run') return 'This text was only simulated: every gate let it pass';
  const why = reason === null ? '' : `: ${sendReasonWords(state, reason)}`;
  return titles[state] ?? `This text ${isUnsent({ state }) ? 'waits' : 'was not sent'}${why}`;
}

function wordsOf({ text }: Send, { areWordsShown }: View): Html {
  if (text === '') return soft('Its recipient was erased, so the text was removed.');
  return areWordsShown ? bubble(text, true) : hiddenWords;
}

/** What somebody wrote, or we did. */
export function bubble(words: string, isOurs = false): Html {
  return html`<div class="thread"><div class="text${isOurs && ' out'}"><p class="bubble body" dir="auto">${words}</p></div></div>`;
}

/** What they wrote, the text that would answer it, and the decisions. */
export function proposalParts(proposal: Proposal, view: View): Html {
  const { sendId, line, number, text, answers, newerCount, expiresAt, seen } = proposal;
  const typed = html`<label class="field">The text<textarea name="text" rows="4" maxlength="1600" required>
${verbatim(text)}</textarea></label>`;
  return html`${answers !== null && view.areWordsShown && bubble(answers)}${bubble(text, true)}
<p class="note">${countOf(maxSegments(text), 'segment')}; without an approval it expires ${view.time(expiresAt)}. ${newerCount > 0 && html`<span class="warning">They have written ${countOf(newerCount, 'text')} since.</span> `}${link(`/threads/${line}/${number}`, 'Read the thread')}</p>
${asks(
  ask(
    view,
    'Approve or change',
    'This text is sent once, if every gate still lets it pass.',
    { 'Approve and send': ['sends approve', { id: sendId, seen }] },
    typed,
  ),
  ask(view, 'Reject', 'It is never sent. Answer them yourself if they need an answer.', {
    'Reject this text': ['sends reject', { id: sendId }],
  }),
)}`;
}

function review({ sendId, line, number, reservedMicros }: Send, view: View): Html {
  const amount = price(reservedMicros);
  const question = `Read the thread of ${line} with ${number} first. If the text is there, it was sent, and ${amount} count as spent; if not, ${amount} are free again. Nothing is sent either way.`;
  return ask(view, 'Settle', question, {
    'It was sent': ['sends settle', { id: sendId, outcome: 'sent' }],
    'It was not sent': ['sends settle', { id: sendId, outcome: 'not-sent' }],
  });
}
