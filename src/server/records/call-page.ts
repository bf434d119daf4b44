import type { Database } from '../../db/database.ts';
import { countOf } from '../../ops/format.ts';
import { commandName } from '../../shared/command-name.ts';
import { isCallId } from '../../shared/thread.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { facts, items, link, type RecordPage, section, soft, steps } from '../page.ts';
import { renderRun } from './automation.ts';
import {
  type CallFacts,
  type CallLeg,
  type CallRecord,
  type CallReturn,
  type CallTranscript,
  type QueueVisit,
  readCall,
  type Utterance,
} from './read-call.ts';
import type { View } from './view.ts';
import { hiddenWords } from './view.ts';
import { lengthOf, outcomeWords, partyOf } from './words.ts';

/** The page of a call. Throws `BadAddress`. */
export async function callPage(db: Database, id: string | undefined, view: View): Promise<RecordPage> {
  if (id === undefined || !isCallId(id))
    throw new BadAddress('This is not the id of a call, such as 1783385492.057900.');
  const record = await readCall(db, id);
  if (!record) {
    throw new BadAddress(
      `The call ${id} is not held. To read it from the service: ${commandName} resync call ${id}`,
      404,
    );
  }
  const { call, returned, transcripts, runs } = record;
  const matched = runs.map((each) => html`${view.time(each.triggerAt)} ${renderRun(each)}`);
  const explained = link(`/rules/explain/${call.id}`, 'What each rule makes of it');
  return {
    title: titleOf(call),
    about: endWords(call),
    parts: [
      section('The call', overview(call, view)),
      section('What happened', legs(record, view)),
      call.direction === 'inbound' && section('Waiting', waiting(record, view)),
      (returned !== undefined || record.returns.length > 0) && section('Return', returns(record, view)),
      section('Recordings and transcripts', artefacts(record, view)),
      ...transcripts.map((each, at) =>
        section(
          transcripts.length > 1 ? `Transcript ${at + 1} of ${transcripts.length}` : 'Transcript',
          transcript(each, view),
          `transcript-${each.id}`,
        ),
      ),
      transcripts.length > 0 && !record.areWordsShown && hiddenWords,
      section(
        'Rules',
        html`${matched.length > 0 && items(matched)}<p class="note">${matched.length === 0 && 'No rule matched. '}${explained}</p>`,
      ),
      call.externalNumber !== null && section('Texts with this number', threads(record, view)),
      section('Where this comes from', source(record, view)),
    ],
  };
}

const erased = 'a person who was erased';

function callerOf({ callerName, callerNumber, isErased }: CallFacts): string {
  return partyOf(callerName, callerNumber) ?? (isErased ? erased : 'a withheld number');
}

function calledOf({ calledName, calledNumber, isErased }: CallFacts): string {
  return partyOf(calledName, calledNumber) ?? (isErased ? erased : 'somebody');
}

function titleOf(call: CallFacts): string {
  const ours = partyOf(call.accountName, call.accountNumber);
  if (call.direction === 'inbound' && !call.isInternal) return `${callerOf(call)} called ${ours ?? calledOf(call)}`;
  return `${call.placedByName ?? callerOf(call)} called ${calledOf(call)}`;
}

const abandonedIn: Readonly<Record<string, string>> = {
  menu: 'in the menu',
  queue: 'in a queue',
  ringing: 'while telephones rang',
};

/** How it ended, in a sentence. */
function endWords(call: CallFacts): string {
  const { outcome, answeredByName, answeredByCount, waitSeconds, talkSeconds } = call;
  switch (outcome) {
    case 'answered': {
      const others = (answeredByCount ?? 1) - 1;
      const by =
        answeredByName === null ? '' : ` by ${answeredByName}${others > 0 ? ` and ${countOf(others, 'other')}` : ''}`;
      const after =
        call.direction === 'inbound' && waitSeconds !== null ? ` after a wait of ${lengthOf(waitSeconds)}` : '';
      return `Answered${by}${after}${talkSeconds === null ? '' : `, connected for ${lengthOf(talkSeconds)}`}.`;
    }
    case 'short_abandoned':
    case 'abandoned': {
      const at = outcome === 'abandoned' ? '' : ' at once';
      const place = abandonedIn[call.abandonedIn ?? ''];
      return `The caller gave up${at}${place ? ` ${place}` : ''}${waitSeconds === null ? '' : `, after ${lengthOf(waitSeconds)}`}.`;
    }
    case 'voicemail':
      return 'Nobody answered; it ended in a mailbox.';
    case 'missed':
      return 'Nobody answered.';
    default:
      return 'The service does not say how it ended.';
  }
}

function overview(call: CallFacts, view: View): Html {
  return facts(view, [
    ['Began', view.time(call.startedAt)],
    ['Ended', call.endedAt ?? 'no end reported'],
    ['Direction', call.isInternal ? 'internal' : (call.direction ?? 'not reported')],
    ['Caller', callerOf(call)],
    ['Called', calledOf(call)],
    ['Customer', call.customer],
    ['Our number', partyOf(call.accountName, call.accountNumber)],
    ['Dialled', call.dialledNumber !== call.accountNumber && call.dialledNumber],
    ['Outcome', outcomeWords[call.outcome] ?? call.outcome],
    ['Answered by', call.answeredByName],
    ['Placed by', call.placedByName],
    ['Length', lengthOf(call.durationSeconds)],
    ['Connected', lengthOf(call.talkSeconds)],
    ['Transfers', call.transferredCount || false],
    ['Earlier calls of the caller', call.repeatedCount || false],
  ]);
}

function legs({ call, legs }: CallRecord, view: View): Html {
  if (legs.length === 0) {
    return soft(
      call.hasLegs
        ? 'The service lists no legs of this call.'
        : html`Its legs were not read yet: <code>${commandName} resync call ${call.id}</code> reads them.`,
    );
  }
  return steps(
    legs.map((leg) => [
      leg.startedAt ? view.clock(leg.startedAt, true) : html`<span>–</span>`,
      lengthOf(leg.durationSeconds),
      legWords(leg),
    ]),
    ' legs',
  );
}

const placeWords: Readonly<Record<string, string>> = {
  ivr: 'Menu',
  queue: 'Queue',
  huntgroup: 'Huntgroup',
  mailbox: 'Mailbox',
};

const statusWords: Readonly<Record<string, string>> = {
  noanswer: 'no answer',
  busy: 'busy',
  cancel: 'given up',
};

/** What a leg was, in the words of somebody on the call. The service doesn't document the fields of legs. */
function legWords(leg: CallLeg): Html {
  const to = partyOf(leg.calledName, leg.calledNumber) ?? 'somebody';
  const from = partyOf(leg.callerName, leg.callerNumber) ?? 'somebody';
  const by = leg.isTransfer && `Transferred by ${from}: `;
  const recorded = leg.isRecorded && html` <span class="tag">recorded</span>`;
  const place = placeWords[leg.calledType ?? ''];
  if (place) {
    const message =
      leg.calledType === 'mailbox' && leg.talkSeconds ? `, a message of ${lengthOf(leg.talkSeconds)}` : '';
    return html`${by}${place} <b>${to}</b>${message}${recorded}`;
  }
  const status = leg.status === null ? 'not reported how' : (statusWords[leg.status.toLowerCase()] ?? leg.status);
  if (leg.calledType === 'user' || leg.calledType === 'external') {
    if (!leg.isAnswered) return html`${by}Rang <b>${to}</b>: ${status}${recorded}`;
    return html`${by}Answered by <b>${to}</b>${talkWords(leg)}${recorded}`;
  }
  return html`${by}${from} to <b>${to}</b>: ${status}${talkWords(leg)}${recorded}`;
}

function talkWords({ durationSeconds, talkSeconds }: CallLeg): string {
  if (!talkSeconds) return '';
  const rang = durationSeconds === null ? 0 : durationSeconds - talkSeconds;
  return `${rang > 0 ? ` after ${lengthOf(rang)}` : ''}, talked ${lengthOf(talkSeconds)}`;
}

const basisWords: Readonly<Record<string, string>> = {
  legs: 'measured from the legs',
  duration_minus_talk: 'length less connected time: menus and ringing are in it',
  unknown: 'not known: neither legs nor lengths say',
};

function waiting({ call, visits }: CallRecord, view: View): Html {
  const known = (seconds: number | null, basis: string) =>
    html`${lengthOf(seconds)} <small>${basisWords[basis] ?? basis}</small>`;
  return html`${facts(view, [
    ['Wait', known(call.waitSeconds, call.waitBasis)],
    ['In menus', call.menuSeconds !== null && known(call.menuSeconds, call.menuBasis)],
    ['Telephones rang', call.ringSeconds !== null && known(call.ringSeconds, call.ringBasis)],
  ])}${visits.length > 0 && items(visits.map(visitWords), 'lines apart')}`;
}

const visitEnds: Readonly<Record<string, string>> = {
  answered: 'answered',
  abandoned: 'the caller gave up',
  short_abandoned: 'the caller gave up at once',
  voicemail: 'went on into a mailbox',
  left: 'went on elsewhere',
  missed: 'nobody answered',
  unknown: 'how it ended is not known',
};

function visitWords({ kind, name, outcome, waitSeconds, waitBasis, nextName }: QueueVisit): Html {
  const end =
    outcome === 'overflowed' ? `went on into ${nextName ?? 'another queue'}` : (visitEnds[outcome] ?? outcome);
  const wait = waitSeconds === null ? 'for an unknown time' : lengthOf(waitSeconds);
  const basis = waitBasis === 'duration_minus_talk' ? ` (${basisWords[waitBasis]})` : '';
  return html`${placeWords[kind] ?? kind} <b>${name}</b>: waited ${wait}${basis}; ${end}.`;
}

function returns({ returned, returns }: CallRecord, { time }: View): Html {
  return html`<div class="prose">${returned && html`<p>${returnWords(returned, { time })}</p>`}
${returns.map(
  ({ id, startedAt }) =>
    html`<p>This call returned ${link(`/calls/${id}`, 'the missed call')} of ${time(startedAt)}.</p>`,
)}</div>`;
}

const returnedBy: Readonly<Record<string, string>> = {
  called_back: 'called back, as the service reports',
  outbound_call: 'called back',
  caller_got_through: 'the caller called again and got through',
  text: 'a user texted the caller',
};

const textedBy: Readonly<Record<string, string>> = {
  automatic_text: 'A rule texted the caller',
  text_by_unknown: 'An unknown sender texted the caller',
};

function returnWords(
  { by, at, callId, textedAt, reachedAt, isUnreturned }: CallReturn,
  { time }: Pick<View, 'time'>,
): Html {
  if (isUnreturned) {
    const only = textedBy[by ?? ''];
    return html`Not returned${only && html`. ${only} ${time(textedAt)}, which is no return`}.`;
  }
  const way = html`${returnedBy[by ?? ''] ?? by}${callId !== null && html` (${link(`/calls/${callId}`, 'that call')})`}`;
  const reached =
    reachedAt === null
      ? ' Nobody is known to have spoken with the caller since.'
      : reachedAt.getTime() !== at?.getTime() && html` Somebody spoke with the caller ${time(reachedAt)}.`;
  return html`Returned${at && html` ${time(at)}`}: ${way}.${reached}`;
}

const stateWords: Readonly<Record<string, string>> = {
  pending: 'not there yet: read again later',
  complete: 'held',
  none: 'none',
  gone: 'captured, but the service no longer lists them',
  forbidden: 'the API key may not read them',
};

function artefacts({ call, recordings, transcripts }: CallRecord, view: View): Html {
  const words = (state: string | null, count: number) => {
    const known = state === null ? 'not read yet' : (stateWords[state] ?? state);
    return count > 0 ? `${count}, ${known}` : known;
  };
  const held = recordings.map(
    ({ startedAt, from, to, durationSeconds }) =>
      html`${view.time(startedAt)} ${from ?? 'somebody'} to ${to ?? 'somebody'}, ${lengthOf(durationSeconds)}`,
  );
  return html`${facts(view, [
    ['Recordings', words(call.recordingsState, recordings.length)],
    ['Transcripts', words(call.transcriptsState, transcripts.length)],
  ])}${
    held.length > 0 &&
    html`${items(held, 'lines apart')}<p class="note"><code>${commandName} links recordings ${call.id}</code> prints links to listen to them.</p>`
  }`;
}

function transcript(each: CallTranscript, view: View): Html {
  const { words, measures, isUrgent, isActionRequired } = each;
  const scored = (score: number | null, note: string | null | undefined) =>
    score !== null && html`${score}${note && html` <small>${note}</small>`}`;
  const action = isUrgent ? 'yes, at once' : isActionRequired !== null && (isActionRequired ? 'yes' : 'no');
  const note = words?.urgentNote ?? words?.actionNote;
  return html`${words?.summary && html`<p class="prose">${words.summary}</p>`}
${words?.points && words.points.length > 0 && html`<ul class="points">${words.points.map((point) => html`<li>${point}</li>`)}</ul>`}
${facts(view, [
  ['Agent', each.agentName],
  ['Purpose', each.purpose],
  ['Sentiment', each.sentiment],
  ['Satisfaction', scored(each.csatScore, words?.csatNote)],
  ['Agent performance', scored(each.performanceScore, words?.performanceNote)],
  ['Somebody should act', action && html`${action}${note && html` <small>${note}</small>`}`],
  ...measures.map(({ name, value, note }) => [name, value === null ? 'not scored' : scored(value, note)] as const),
])}
${words?.segments && words.segments.length > 0 && html`<details><summary>What was said: ${countOf(words.segments.length, 'utterance')}</summary><ol class="said" tabindex="0" aria-label="What was said">${words.segments.map((segment) => utterance(segment, each))}</ol></details>`}
${!words?.segments && each.segmentCount !== null && html`<p class="soft apart">${countOf(each.segmentCount, 'utterance')}, ${words ? 'removed after RETENTION_DAYS' : 'hidden'}</p>`}
${(each.legPairing === 'none' || each.legPairing === 'ambiguous') && html`<p class="note">Which leg was recorded is not known.</p>`}`;
}

function utterance({ start, speaker, text }: Utterance, { agentSpeaker, agentName }: CallTranscript): Html {
  const at = Math.floor(start ?? 0);
  const who =
    agentSpeaker === null
      ? `Speaker ${(speaker ?? 0) + 1}`
      : speaker === agentSpeaker
        ? (agentName ?? 'Agent')
        : 'Other party';
  return html`<li><span class="soft">${Math.floor(at / 60)}:${String(at % 60).padStart(2, '0')}</span> <b>${who}</b> <span dir="auto">${text}</span></li>`;
}

function threads({ threads, call }: CallRecord, { time }: View): Html {
  if (threads.length === 0) return soft(`No texts with ${call.externalNumber} are held.`);
  return items(
    threads.map(({ line, number, messageCount, lastAt }) => {
      const texts = link(`/threads/${line}/${number}`, countOf(messageCount, 'text'));
      return html`${texts} on line ${line}${lastAt && html`, the last ${time(lastAt)}`}`;
    }),
  );
}

function source({ call }: CallRecord, view: View): Html {
  return html`<p class="note">Held since ${view.time(call.firstSeenAt)}, from <code>${call.source}</code>; last changed ${view.time(call.changedAt)}.
<code>${commandName} trace ${call.id}</code> tells every step.</p>`;
}
