import { query, sql, type Transaction } from '../../db/database.ts';
import { countOf } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';
import { facts, section, steps } from '../page.ts';
import type { View } from './view.ts';
import { type Fields, lengthOf, partyOf } from './words.ts';

/* What happened on a call, by its legs, and what was said, by its transcripts. */

/** One call can have very many legs, recordings and threads. */
export const maxOfEach = 100;

interface Leg
  extends Fields<'caller_name' | 'caller_number' | 'called_type' | 'called_name' | 'called_number', string | null>,
    Fields<'duration_seconds' | 'talk_seconds', number | null>,
    Fields<'is_answered' | 'is_transfer' | 'is_recorded', boolean> {
  readonly started_at: Date | null;
  readonly status: string | null;
}

/** The legs of a call as a story, one sentence each. Undefined if there are none. */
export async function legStory(tx: Transaction, callId: string, view: View): Promise<Html | undefined> {
  const legs = await query(
    tx,
    sql<Leg>`select l.*, coalesce(talk_seconds > 0, status ~* '^answer', false) as is_answered,
       ordinal > 1 and caller_type is not distinct from 'user' as is_transfer
     from warehouse.call_legs l where call_id = ${callId} and deleted_at is null order by ordinal limit ${maxOfEach}`,
  );
  if (legs.length === 0) return undefined;
  return steps(
    legs.map((leg) => [
      leg.started_at ? view.clock(leg.started_at, true) : html`<span>–</span>`,
      lengthOf(leg.duration_seconds),
      html`${legWords(leg)}${leg.is_recorded && html` <span class="tag">recorded</span>`}`,
    ]),
    ' legs',
  );
}

const places: Readonly<Record<string, string>> = {
  ivr: 'Menu',
  queue: 'Queue',
  huntgroup: 'Huntgroup',
  mailbox: 'Mailbox',
};

const statuses: Readonly<Record<string, string>> = { noanswer: 'no answer', cancel: 'given up' };

/** What a leg was, in the words of somebody on the call. The service doesn't document the fields of legs. */
function legWords(leg: Leg): Html {
  const { called_type, duration_seconds, talk_seconds } = leg;
  const to = html`<b>${partyOf(leg.called_name, leg.called_number) ?? 'somebody'}</b>`;
  const from = partyOf(leg.caller_name, leg.caller_number) ?? 'somebody';
  const by = leg.is_transfer && `Transferred by ${from}: `;
  const place = places[called_type ?? ''];
  if (place) {
    const message = called_type === 'mailbox' && talk_seconds ? `, a message of ${lengthOf(talk_seconds)}` : '';
    return html`${by}${place} ${to}${message}`;
  }
  const rang = (duration_seconds ?? 0) - (talk_seconds ?? 0);
  const talked = talk_seconds ? `${rang > 0 ? ` after ${lengthOf(rang)}` : ''}, talked ${lengthOf(talk_seconds)}` : '';
  const status = leg.status === null ? 'not reported how' : (statuses[leg.status.toLowerCase()] ?? leg.status);
  if (called_type !== 'user' && called_type !== 'external') return html`${by}${from} to ${to}: ${status}${talked}`;
  return leg.is_answered ? html`${by}Answered by ${to}${talked}` : html`${by}Rang ${to}: ${status}`;
}

/** A transcript as warehouse.transcripts has it. */
export interface Transcript
  extends Fields<'transcript_id' | 'leg_pairing', string>,
    Fields<'agent_name' | 'call_purpose' | 'call_sentiment' | 'short_summary', string | null>,
    Fields<
      'csat_note' | 'agent_performance_note' | 'action_required_note' | 'urgent_action_required_note',
      string | null
    >,
    Fields<'csat_score' | 'agent_performance_score' | 'agent_speaker' | 'segment_count', number | null>,
    Fields<'is_action_required' | 'is_urgent_action_required', boolean | null> {
  readonly bullet_points: readonly string[] | null;
  /** The account's own KPIs. */
  readonly kpis: readonly { readonly name: string; readonly value: number | null; readonly note: string | null }[];
  readonly segments: readonly Utterance[] | null;
}

interface Utterance {
  readonly start?: number;
  readonly speaker?: number;
  readonly text?: string;
}

export function readTranscripts(tx: Transaction, callId: string): Promise<Transcript[]> {
  return query(
    tx,
    sql<Transcript>`select t.*, u.user_name as agent_name, b.segments,
       (select coalesce(jsonb_agg(jsonb_build_object('name', k.kpi_name, 'value', k.kpi_value, 'note', k.kpi_note) order by k.ordinal), '[]')
        from warehouse.transcript_kpis k where k.transcript_id = t.transcript_id) as kpis
     from warehouse.transcripts t
       left join warehouse.transcript_bodies b on b.transcript_id = t.transcript_id
       left join rollups.transcript_agents a on a.transcript_id = t.transcript_id
       left join reporting.dim_user u on u.user_id = a.agent_user_id
     where t.call_id = ${callId} and t.deleted_at is null order by t.transcript_id limit ${maxOfEach}`,
  );
}

/** A card with what the service's analysis says of a recorded leg, and what was said. */
export function renderTranscript(each: Transcript, heading: string, view: View): Html {
  const scored = (score: string | number | null, note: string | null) =>
    score !== null && html`${score}${view.areWordsShown && note && html` <small>${note}</small>`}`;
  const isUrgent = each.is_urgent_action_required;
  const action = isUrgent
    ? 'yes, at once'
    : each.is_action_required
      ? 'yes'
      : each.is_action_required === false && 'no';
  const actionNote = (isUrgent && each.urgent_action_required_note) || each.action_required_note;
  return section(
    heading,
    html`${view.areWordsShown && summary(each)}
${facts(view, [
  ['Agent', each.agent_name],
  ['Purpose', each.call_purpose],
  ['Sentiment', each.call_sentiment],
  ['Satisfaction', scored(each.csat_score, each.csat_note)],
  ['Agent performance', scored(each.agent_performance_score, each.agent_performance_note)],
  ['Somebody should act', action && scored(action, actionNote)],
  ...each.kpis.map(({ name, value, note }) => [name, scored(value ?? 'not scored', note)] as const),
])}
${conversation(each, view)}
${/none|ambiguous/.test(each.leg_pairing) && html`<p class="note">Which leg was recorded is not known.</p>`}`,
    `transcript-${each.transcript_id}`,
  );
}

function summary({ short_summary, bullet_points }: Transcript): Html {
  const points = (bullet_points ?? []).map((each) => html`<li dir="auto">${each}</li>`);
  return html`${short_summary && html`<p class="prose" dir="auto">${short_summary}</p>`}${points.length > 0 && html`<ul class="points">${points}</ul>`}`;
}

function conversation(transcript: Transcript, { areWordsShown }: View): Html | false {
  const { segments, segment_count } = transcript;
  if (areWordsShown && segments?.length) {
    const said = segments.map((each) => utteranceOf(each, transcript));
    return html`<details><summary>What was said: ${countOf(said.length, 'utterance')}</summary><ol class="said" tabindex="0" aria-label="What was said">${said}</ol></details>`;
  }
  const why = areWordsShown ? 'removed after RETENTION_DAYS' : 'hidden';
  return segment_count !== null && html`<p class="soft apart">${countOf(segment_count, 'utterance')}, ${why}</p>`;
}

function utteranceOf({ start = 0, speaker = 0, text }: Utterance, { agent_speaker, agent_name }: Transcript): Html {
  const at = `${Math.floor(start / 60)}:${String(Math.floor(start) % 60).padStart(2, '0')}`;
  const other = agent_speaker === null ? `Speaker ${speaker + 1}` : 'Other party';
  const who = speaker === agent_speaker ? (agent_name ?? 'Agent') : other;
  return html`<li><span class="soft">${at}</span> <b>${who}</b> <span dir="auto">${text}</span></li>`;
}
