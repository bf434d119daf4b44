import { query, sql, type Transaction } from '../../db/database.ts';
import { countOf } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';
import { factsOf, section, steps } from '../page.ts';
import { lengthOf } from '../words.ts';
import { type Fields, party, type View } from './view.ts';

/* What happened on a call, by its legs, and what was said, by its transcripts. */

/** One call can have very many legs, recordings and threads. */
export const maxOfEach = 100;

interface Leg
  extends Fields<'caller' | 'called', string>,
    Fields<'called_type' | 'status', string | null>,
    Fields<'duration_seconds' | 'talk_seconds', number | null>,
    Fields<'is_answered' | 'is_transfer' | 'is_recorded', boolean> {
  readonly started_at: Date | null;
}

/** The legs of a call as a story, one sentence each. Undefined if there are none. */
export async function legStory(tx: Transaction, callId: string, view: View): Promise<Html | undefined> {
  const legs = await query(
    tx,
    sql<Leg>`select l.*, coalesce(talk_seconds > 0, status ~* '^answer', false) as is_answered,
       ordinal > 1 and caller_type is not distinct from 'user' as is_transfer,
       coalesce(${party(sql`caller_name`, sql`caller_number`)}, 'somebody') as caller,
       coalesce(${party(sql`called_name`, sql`called_number`)}, 'somebody') as called
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
function legWords({ caller, called, called_type, duration_seconds, talk_seconds, ...leg }: Leg): Html {
  const to = html`<b>${called}</b>`;
  const by = leg.is_transfer && `Transferred by ${caller}: `;
  const place = places[called_type ?? ''];
  if (place) {
    const message = called_type === 'mailbox' && talk_seconds ? `, a message of ${lengthOf(talk_seconds)}` : '';
    return html`${by}${place} ${to}${message}`;
  }
  const rang = (duration_seconds ?? 0) - (talk_seconds ?? 0);
  const talked = talk_seconds ? `${rang > 0 ? ` after ${lengthOf(rang)}` : ''}, talked ${lengthOf(talk_seconds)}` : '';
  const status = leg.status === null ? 'not reported how' : (statuses[leg.status.toLowerCase()] ?? leg.status);
  if (called_type !== 'user' && called_type !== 'external') return html`${by}${caller} to ${to}: ${status}${talked}`;
  return leg.is_answered ? html`${by}Answered by ${to}${talked}` : html`${by}Rang ${to}: ${status}`;
}

/** A transcript, with what the service's analysis and the account's KPIs say, as far as words are shown. */
interface Transcript extends Fields<'id' | 'leg_pairing', string> {
  readonly short_summary: string | null;
  readonly bullet_points: readonly string[] | null;
  readonly facts: Readonly<Record<string, string | null>>;
  readonly kpis: Readonly<Record<string, string>>;
  readonly segment_count: number | null;
  readonly segments: readonly Utterance[] | null;
  /** The speaker who is the agent. */
  readonly agent_speaker: number | null;
}

interface Utterance {
  readonly start?: number;
  readonly speaker?: number;
  readonly text?: string;
}

export function readTranscripts(tx: Transaction, callId: string, { areWordsShown }: View): Promise<Transcript[]> {
  const noted = (value: string, note: string) =>
    sql`${sql.ref(value)} || coalesce(' · ' || case when ${areWordsShown} then nullif(${sql.ref(note)}, '') end, '')`;
  return query(
    tx,
    sql<Transcript>`select t.transcript_id as id, t.leg_pairing, t.segment_count, t.agent_speaker,
       case when ${areWordsShown} then t.short_summary end as short_summary,
       case when ${areWordsShown} then t.bullet_points end as bullet_points, case when ${areWordsShown} then b.segments end as segments,
       json_build_object('agent', u.user_name, 'purpose', t.call_purpose, 'sentiment', t.call_sentiment, 'satisfaction', ${noted('t.csat_score', 't.csat_note')},
         'agent_performance', ${noted('t.agent_performance_score', 't.agent_performance_note')},
         'somebody_should_act', ${noted('act.word', 'act.note')}) as facts,
       (select coalesce(json_object_agg(k.kpi_name, ${noted('kpi.value', 'k.kpi_note')} order by k.ordinal), '{}')
        from warehouse.transcript_kpis k, coalesce(k.kpi_value::text, 'not scored') kpi (value) where k.transcript_id = t.transcript_id) as kpis
     from warehouse.transcripts t
       cross join lateral (select
         case when t.is_urgent_action_required then 'yes, at once' when t.is_action_required then 'yes' when not t.is_action_required then 'no' end,
         coalesce(case when t.is_urgent_action_required then nullif(t.urgent_action_required_note, '') end, t.action_required_note)) act (word, note)
       left join warehouse.transcript_bodies b on b.transcript_id = t.transcript_id
       left join rollups.transcript_agents a on a.transcript_id = t.transcript_id
       left join reporting.dim_user u on u.user_key = a.agent_user_id
     where t.call_id = ${callId} and t.deleted_at is null order by t.transcript_id limit ${maxOfEach}`,
  );
}

/** A card with what the service's analysis says of a recorded leg, and what was said. */
export function renderTranscript(each: Transcript, heading: string, view: View): Html {
  const points = each.bullet_points?.map((point) => html`<li dir="auto">${point}</li>`) ?? [];
  return section(
    heading,
    html`${each.short_summary && html`<p class="prose" dir="auto">${each.short_summary}</p>`}
${points.length > 0 && html`<ul class="points">${points}</ul>`}
${factsOf(view, { ...each.facts, ...each.kpis })}
${conversation(each, view)}
${/none|ambiguous/.test(each.leg_pairing) && html`<p class="note">Which leg was recorded is not known.</p>`}`,
    `transcript-${each.id}`,
  );
}

function conversation(transcript: Transcript, { areWordsShown }: View): Html | false {
  const { segments, segment_count } = transcript;
  if (segments?.length) {
    const said = segments.map((each) => utteranceOf(each, transcript));
    return html`<details><summary>What was said: ${countOf(said.length, 'utterance')}</summary><ol class="said" tabindex="0" aria-label="What was said">${said}</ol></details>`;
  }
  const why = areWordsShown ? 'removed after RETENTION_DAYS' : 'hidden';
  return segment_count !== null && html`<p class="soft apart">${countOf(segment_count, 'utterance')}, ${why}</p>`;
}

function utteranceOf({ start = 0, speaker = 0, text }: Utterance, { agent_speaker, facts }: Transcript): Html {
  const at = `${Math.floor(start / 60)}:${String(Math.floor(start) % 60).padStart(2, '0')}`;
  const other = agent_speaker === null ? `Speaker ${speaker + 1}` : 'Other party';
  const who = speaker === agent_speaker ? (facts.agent ?? 'Agent') : other;
  return html`<li><span class="soft">${at}</span> <b>${who}</b> <span dir="auto">${text}</span></li>`;
}
