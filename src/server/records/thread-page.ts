import type { Database } from '../../db/database.ts';
import { countOf, quantity } from '../../ops/format.ts';
import { commandName } from '../../shared/command-name.ts';
import { threadKey, threadOf, typedThreadKey } from '../../shared/thread.ts';
import { idOf, type Parameters, textOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { facts, link, type RecordPage, section, soft } from '../page.ts';
import { type RuleRun, renderRun } from './automation.ts';
import {
  isErasedThread,
  type OptState,
  readThread,
  type StateChange,
  type ThreadCall,
  type ThreadPlace,
  type ThreadRecord,
  type ThreadState,
  type ThreadText,
} from './read-thread.ts';
import { hiddenWords, type View } from './view.ts';
import { lengthOf, outcomeWords, partyOf } from './words.ts';

/**
 * One page of a thread, newest text at the bottom. `before` with the id of a text selects older texts; `text` selects
 * the page with that text. Throws `BadAddress`.
 */
export async function threadPage(db: Database, key: string, query: Parameters, view: View): Promise<RecordPage> {
  const typed = typedThreadKey(key);
  if (typed === undefined) {
    throw new BadAddress(
      'This is not a thread: write /threads/line/number, and /threads/line/number,number for a group.',
    );
  }
  const thread = threadOf(typed);
  if (await isErasedThread(db, thread)) {
    throw new BadAddress('This thread is not held: one of its participants was erased, so that it is never read.', 404);
  }
  const record = await readThread(db, thread, placeOf(query));
  if (!record) {
    const toRead = `${commandName} resync thread ${typed}`;
    throw new BadAddress(`The thread ${typed} is not held. To read it from the service: ${toRead}`, 404);
  }
  const { state, texts } = record;
  const title =
    thread.participants.length > 0
      ? `Group of ${thread.participants.join(', ')}`
      : `Texts with ${partyOf(state.contactName, thread.number)}`;
  const line = partyOf(state.lineName, thread.line) ?? thread.line;
  return {
    title,
    about: html`On ${line} · ${countOf(state.messageCount, 'text')} held${!state.isComplete && ', perhaps not all: no read has listed the thread to its end'}${texts.length > 0 && html` · <a class="link" href="#newest">To the newest</a>`}`,
    parts: [
      section('State', overview(record, view)),
      pager(record, 'older'),
      texts.length === 0
        ? html`<p class="hint">There are no texts on this page.</p>`
        : html`<ol class="thread">${entries(record, view)}</ol>`,
      pager(record, 'newer'),
      !record.areWordsShown && hiddenWords,
      section('Where this comes from', source(record)),
    ],
  };
}

function placeOf(query: Parameters): ThreadPlace {
  const [before, text] = [textOf(query, 'before'), textOf(query, 'text')];
  if (before !== undefined) return { before: idOf(before) };
  return text === undefined ? undefined : { around: idOf(text) };
}

function overview({ thread, state, optStates }: ThreadRecord, view: View): Html {
  const isGroup = thread.participants.length > 0;
  return facts(view, [
    ['Customer', state.customer],
    ['Conversation', resolvedWords(state, view)],
    ['Assigned to', state.isAssignmentKnown ? (state.assignedName ?? 'nobody') : 'never observed'],
    ['Automatic texts', !isGroup && optWords(optStates, thread.line, view)],
    ['First text held', state.firstAt],
    ['Newest text', state.lastAt],
  ]);
}

/** The service can't be asked for the current state, so it is as old as its observation. */
function resolvedWords(
  { isResolved, resolvedByName, resolvedObservedAt, resolvedConfidence }: ThreadState,
  view: View,
): Html {
  if (isResolved === null) return html`never observed <small>only answers to requests of this daemon show it</small>`;
  const by = isResolved && resolvedByName !== null ? ` by ${resolvedByName}` : '';
  const since = resolvedConfidence === 'stale_since_inbound' ? ', before a newer text of theirs' : '';
  return html`<span class="state">${isResolved ? 'resolved' : 'open'}</span>${by} <small>as observed ${view.time(resolvedObservedAt)}${since}</small>`;
}

/** An opt-out on any line keeps rules from texting, except on a line with a later opt-in. */
function optWords(states: readonly OptState[], line: string, view: View): Html {
  const here = states.find((each) => each.line === line);
  if (here?.status === 'opt_in') return html`opted in ${view.time(here.decidedAt)}`;
  const ofKind = (status: OptState['status']) =>
    here?.status === status ? here : states.find((each) => each.status === status);
  const found = ofKind('opt_out') ?? ofKind('unsure') ?? here;
  if (!found) return html`not opted out`;
  const { status, evidence, decidedAt } = found;
  const elsewhere = found.line !== line && found.line !== '' && ` on ${found.line}`;
  if (status === 'unsure') {
    return html`<span class="warning">may have opted out</span> <small>by their text ${view.time(decidedAt)}${elsewhere}: <a href="/sends#opt-outs">decide</a></small>`;
  }
  if (status !== 'opt_out') return html`not opted out <small>a person decided ${view.time(decidedAt)}</small>`;
  const how = { service_skip: 'the service skipped a text', person: 'a person decided', inbound_word: 'by their text' };
  return html`<span class="problem">opted out</span> <small>${how[evidence]} ${view.time(decidedAt)}${elsewhere}</small>`;
}

/** Links to older or newer texts, if there are any. */
function pager({ thread, pages: { older, newer } }: ThreadRecord, end: 'older' | 'newer'): Html {
  const path = `/threads/${threadKey(thread)}`;
  const link = (before: string, rel: string, name: string) =>
    html`<a class="link" href="${`${path}?before=${before}`}" rel="${rel}">${name}</a>`;
  const newest = html`<a class="link" href="${path}">Newest texts</a>`;
  const name = end === 'older' ? 'Older texts' : 'Newer texts';
  const links =
    end === 'older'
      ? older !== undefined && link(older, 'prev', name)
      : newer !== undefined && html`${newer !== null && link(newer, 'next', name)}${newest}`;
  return links ? html`<nav class="turn" aria-label="${name}">${links}</nav>` : html``;
}

interface Entry {
  readonly at: Date | null;
  readonly content: Html;
}

/** Texts, calls, rules and state changes in order of time, with a heading for each day. */
function entries(record: ThreadRecord, view: View): Html[] {
  const { texts, calls, changes, state, areCallsCut } = record;
  const runs = Map.groupBy(record.runs, ({ triggerKey }) => triggerKey);
  const shown = new Set(record.runs.map(({ id }) => id));
  const take = (key: string) => {
    const taken = runs.get(key) ?? [];
    runs.delete(key);
    return taken;
  };
  const all: Entry[] = [
    ...texts.map((text) => ({
      at: text.sentAt,
      content: bubble(text, take(`${state.conversationId}/${text.id}`), record, view),
    })),
    ...calls.map((call) => ({ at: call.startedAt, content: callEntry(call, take(call.id), record, view) })),
    // What a rule on this page did is shown with the rule.
    ...changes
      .filter(({ runId }) => runId === null || !shown.has(runId))
      .map((change) => ({ at: change.at, content: aside(view, change.at, changeWords(change)) })),
  ];
  for (const run of [...runs.values()].flat()) {
    all.push({ at: run.triggerAt, content: aside(view, run.triggerAt, renderRun(run)) });
  }
  // Texts without a time stay at the end, where they were read.
  all.sort((a, b) => Number(a.at ?? Number.POSITIVE_INFINITY) - Number(b.at ?? Number.POSITIVE_INFINITY) || 0);
  const dated = all.flatMap(({ at, content }, place) => {
    const day = dayOf(at, view);
    const before = place > 0 ? dayOf(all[place - 1]?.at ?? null, view) : undefined;
    return day === before ? [content] : [html`<li class="day">${day}</li>`, content];
  });
  return areCallsCut ? [html`<li class="aside">Older calls of this time are left out.</li>`, ...dated] : dated;
}

function dayOf(at: Date | null, view: View): string {
  if (at === null) return 'No time reported';
  return at.toLocaleDateString('en-GB', { timeZone: view.zone, dateStyle: 'full' });
}

function aside(view: View, at: Date, content: Html): Html {
  return html`<li class="aside">${view.clock(at)} ${content}</li>`;
}

function bubble(text: ThreadText, runs: readonly RuleRun[], record: ThreadRecord, view: View): Html {
  const side = text.direction === 'in' ? 'in' : 'out';
  const isNewest = text === record.texts.at(-1);
  return html`<li class="text ${side}${(text.deliveryClass === 'failed' || text.deliveryClass === 'blocked') && ' failed'}" id="text-${text.id}">
${isNewest && html`<span id="newest"></span>`}<p class="who">${senderWords(text, record)} ${text.sentAt && view.clock(text.sentAt)}</p>
<div class="bubble">${wordsOf(text, record.areWordsShown)}</div>
${metaWords(text, view)}${runs.map((run) => html`<p class="meta">${renderRun(run)}</p>`)}${
  text.direction === 'in' &&
  runs.length === 0 &&
  record.thread.participants.length === 0 &&
  html`<p class="meta">No rule matched: ${link(`/rules/explain/${text.id}`, 'why')}</p>`
}</li>`;
}

function senderWords(
  { direction, from, sender, userName, rule, isScheduled }: ThreadText,
  { thread }: ThreadRecord,
): Html {
  if (direction === 'in') return html`${from ?? thread.number}`;
  if (sender === 'automatic') return html`Automatic${rule !== null && html`: rule <b>${rule}</b>`}`;
  if (userName !== null) return html`${userName}`;
  return html`${sender === 'user' ? 'A user' : isScheduled ? '' : 'Unknown sender'}`;
}

function wordsOf({ body, length, mediaCount }: ThreadText, areWordsShown: boolean): Html {
  const media = mediaCount > 0 && html`<p class="tag">${countOf(mediaCount, 'file')}</p>`;
  if (length === 0) return media || soft('no words');
  const isHeld = areWordsShown && body !== null;
  const missing = `${countOf(length, 'character')}, ${areWordsShown ? 'removed after RETENTION_DAYS' : 'hidden'}`;
  return html`${isHeld ? html`<p class="body" dir="auto">${body}</p>` : soft(missing)}${media}`;
}

const verdictWords: Readonly<Record<string, string>> = {
  opt_out: 'opts out of automatic texts',
  opt_in: 'opts in to automatic texts',
  unsure: 'may opt out: rules text them no more until somebody decides',
};

function metaWords(text: ThreadText, view: View): Html {
  const parts = [
    text.isScheduled && html`not sent yet: scheduled for ${view.time(text.scheduledAt)}`,
    deliveryWords(text),
    verdictWords[text.optOutVerdict ?? ''] !== undefined && html`${verdictWords[text.optOutVerdict ?? '']}`,
  ].filter((each) => each !== false);
  return parts.length === 0
    ? html``
    : html`<p class="meta">${parts.map((each, at) => html`${at > 0 && ' · '}${each}`)}</p>`;
}

function deliveryWords({ deliveryClass, deliveryStatus, deliveryError, blockReason }: ThreadText): Html | false {
  const why = deliveryError ?? deliveryStatus;
  switch (deliveryClass) {
    case null:
      return false;
    case 'delivered':
      return html`delivered`;
    case 'in_flight':
      return html`on its way`;
    case 'failed':
      return html`<span class="problem">not delivered</span>${why !== null && `: ${why}`}`;
    case 'blocked':
      return html`<span class="problem">not delivered</span>: blocked${blockReason && ` (${blockReason})`}`;
    case 'no_receipt':
      return html`no receipt yet`;
    default:
      return html`delivery not known${why !== null && `: ${why}`}`;
  }
}

function callEntry(call: ThreadCall, runs: readonly RuleRun[], { thread }: ThreadRecord, view: View): Html {
  const name = call.direction === 'outbound' ? 'We called' : 'They called';
  const elsewhere =
    call.accountNumber !== null &&
    call.accountNumber !== thread.line &&
    `${call.direction === 'outbound' ? ' from' : ''} ${call.accountNumber}`;
  const by = call.userName !== null && ` (${call.userName})`;
  const talk = call.talkSeconds ? `, ${lengthOf(call.talkSeconds)}` : '';
  return html`<li class="aside">${view.clock(call.startedAt)} ${link(`/calls/${call.id}`, html`${name}${elsewhere}`)}: ${
    outcomeWords[call.outcome] ?? call.outcome
  }${by}${talk}${runs.map((run) => html`<br>${renderRun(run)}`)}</li>`;
}

function changeWords({ axis, isResolved, userName, actor }: StateChange): Html {
  const by = html` <span class="soft">by ${actor}</span>`;
  if (axis === 'comment') return html`Internal note added${by}`;
  if (axis === 'assigned') return html`Assigned to ${userName ?? 'nobody'}${by}`;
  return html`${isResolved ? 'Resolved' : 'Reopened'}${isResolved && userName !== null && `, credited to ${userName}`}${by}`;
}

function source({ thread, state, texts }: ThreadRecord): Html {
  const key = threadKey(thread);
  const files = texts.some(({ mediaCount }) => mediaCount > 0);
  return html`<p class="note"><code>${commandName} trace ${key}</code> tells every step${
    files && html`, <code>${commandName} links thread ${key}</code> prints links to the files`
  }. ${quantity(state.messageCount)} held; texts that the service deleted are not shown.</p>`;
}
