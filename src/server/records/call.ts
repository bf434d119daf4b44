import { query, sql, type Transaction } from '../../db/database.ts';
import { isCallId } from '../../shared/call-id.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html, withCode } from '../html.ts';
import { factsOf, items, link, type RecordPage, section, soft } from '../page.ts';
import { codes, lengthOf } from '../words.ts';
import { legStory, maxOfEach, readTranscripts, renderTranscript } from './call-story.ts';
import { openMedium } from './media.ts';
import { readRuns, renderRun } from './rule-runs.ts';
import { customerWords, type Fields, hiddenWords, party, type View } from './view.ts';

/** What the page says of a call in sentences. */
interface Call
  extends Fields<'outcome' | 'direction' | 'caller' | 'called', string>,
    Fields<'our_number' | 'placed_by' | 'answered_by' | 'line' | 'number', string | null>,
    Fields<'recordings_state' | 'transcripts_state' | 'returned_by' | 'returned_call_id', string | null>,
    Fields<'wait_seconds' | 'talk_seconds' | 'answered_by_count', number | null>,
    Fields<'returned_at' | 'texted_at' | 'reached_at', Date | null> {
  readonly started_at: Date;
  readonly has_legs: boolean;
  /** Null unless it was missed. */
  readonly is_unreturned: boolean | null;
}

/** The page of a call: who called whom, its way, and what came of it. Throws `BadAddress`. */
export async function callPage(tx: Transaction, id: string | undefined, view: View): Promise<RecordPage> {
  if (id === undefined || !isCallId(id))
    throw new BadAddress('This is not the id of a call, such as 1783385492.057900.');
  const toRead = toType(`resync call ${id}`);
  const [call, shown] = await readCall(tx, id);
  if (!call) throw new BadAddress(`The call ${id} is not held. To read it from the service: ${toRead}`, 404);
  const transcripts = await readTranscripts(tx, id, view);
  const { number } = call;
  const noLegs = call.has_legs
    ? 'The service lists no legs of this call.'
    : withCode(`Its legs were not read yet: ${toRead} reads them.`);
  return {
    title: titleOf(call),
    about: endWords(call),
    parts: [
      section('The call', factsOf(view, shown)),
      section('What happened', (await legStory(tx, id, view)) ?? soft(noLegs)),
      call.is_unreturned !== null && section('Return', returnFacts(call, view)),
      section('Recordings', await recordings(tx, id, call, view, transcripts.length)),
      ...transcripts.map((each, at) =>
        renderTranscript(each, transcripts.length > 1 ? `Transcript ${at + 1}` : 'Transcript', view),
      ),
      !view.areWordsShown && hiddenWords,
      section('Rules', await rules(tx, id, call, [id, ...transcripts.map(({ id }) => id)], view)),
      number !== null &&
        html`<p class="note">${link(`/search?q=${number}`, 'All texts and calls with this number')}</p>`,
    ],
  };
}

/** A call, with the names of people and lines; and its facts: the columns after `facts`, in the order of the page. */
async function readCall(tx: Transaction, id: string): Promise<[Call | undefined, Readonly<Record<string, unknown>>]> {
  const inbound = sql`f.direction = 'inbound'`;
  const nobody = sql`case when c.is_erased then 'a person who was erased' end`;
  const caller = party(sql`coalesce(case when ${inbound} then k.name end, f.caller_name)`, sql`f.caller_number`);
  const called = party(
    sql`coalesce(case when f.direction = 'outbound' then k.name end, f.called_name)`,
    sql`f.called_number`,
  );
  const [row] = await query(
    tx,
    sql<
      Call & Readonly<Record<string, unknown>>
    >`select f.outcome, f.account_number as line, f.external_number as number, a.user_name as answered_by,
       case when c.status_code >= 1 then c.status_code end as answered_by_count, c.recordings_state, c.transcripts_state,
       c.legs_fetched_at is not null as has_legs, f.wait_seconds, f.talk_seconds, f.started_at,
       m.is_unreturned, m.returned_by, m.returned_at, m.returned_call_id, m.texted_at, m.reached_at, 0 as facts,
       f.started_at as began, f.ended_at as ended, f.duration_seconds as length_seconds, f.talk_seconds as connected_seconds,
       case when ${inbound} and f.wait_basis <> 'duration_minus_talk' then f.wait_seconds end as waited_seconds,
       case when ${inbound} and f.wait_basis = 'duration_minus_talk' then f.wait_seconds end as waited_with_menus_and_ringing_seconds,
       nullif(f.menu_seconds, 0) as in_menus_seconds, nullif(f.ring_seconds, 0) as telephones_rang_seconds,
       case when f.is_internal then 'internal' else coalesce(f.direction, 'not reported') end as direction,
       coalesce(${caller}, ${nobody}, 'a withheld number') as caller, coalesce(${called}, ${nobody}, 'somebody') as called,
       ${customerWords} as customer, ${party(sql`l.name`, sql`f.account_number`)} as our_number,
       nullif(c.dialled_number, f.account_number) as dialled, b.user_name as placed_by,
       nullif(f.transferred_count, 0) as transfers, nullif(c.repeated_count, 0) as earlier_calls_of_the_caller
     from reporting.fct_call f join warehouse.calls c using (call_id)
       left join reporting.missed_calls m on m.call_id = f.call_id
       left join warehouse.contacts k on k.number = warehouse.contact_number(f.external_number)
       left join warehouse.sms_lines l on l.line = f.account_number
       left join reporting.dim_user a on a.user_key = f.answered_user_key
       left join reporting.dim_user b on b.user_key = f.placed_user_key
     where f.call_id = ${id}`,
  );
  const columns = Object.entries(row ?? {});
  return [row, Object.fromEntries(columns.slice(columns.findIndex(([name]) => name === 'facts') + 1))];
}

function titleOf({ direction, caller, called, our_number, placed_by }: Call): string {
  return direction === 'inbound'
    ? `${caller} called ${our_number ?? called}`
    : `${placed_by ?? caller} called ${called}`;
}

/** How it ended, in a sentence: `Answered by Ada Berg and 1 other after 46 s, connected for 8 min.` */
function endWords({ outcome, direction, answered_by, answered_by_count, wait_seconds, talk_seconds }: Call): string {
  const words = codes.outcome[outcome] ?? outcome;
  const others = (answered_by_count ?? 1) - 1;
  const by = answered_by === null ? '' : ` by ${answered_by}${others > 0 ? ` and ${countOf(others, 'other')}` : ''}`;
  const isKnown = outcome !== 'unknown' && direction === 'inbound' && wait_seconds !== null;
  const waited = isKnown ? ` after ${lengthOf(wait_seconds)}` : '';
  const talked = talk_seconds ? `, connected for ${lengthOf(talk_seconds)}` : '';
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${by}${waited}${talked}.`;
}

/** What returned a missed call, and when somebody spoke with the caller since. */
function returnFacts(call: Call, view: View): Html {
  const { returned_by, returned_at, returned_call_id: id, texted_at, reached_at, is_unreturned } = call;
  return factsOf(view, {
    is_returned: is_unreturned ? 'not yet' : 'yes',
    returned_by,
    at: is_unreturned ? texted_at : returned_at,
    by_the_call: id !== null && link(`/calls/${id}`, id),
    spoken_with_at: reached_at ?? 'nobody is known to have spoken with the caller since',
  });
}

interface Recording extends Fields<'part' | 'parties', string> {
  readonly link: string | null;
  readonly started_at: Date | null;
  readonly duration_seconds: number | null;
}

/** The recordings with their players. They are hidden together with words. */
async function recordings(tx: Transaction, id: string, call: Call, view: View, transcriptCount: number): Promise<Html> {
  const held = await query(
    tx,
    sql<Recording>`select r.unique_id as part, r.started_at, r.duration_seconds, s.link,
       coalesce(nullif(l.caller_name, ''), nullif(r.from_endpoint, ''), 'somebody') || ' to ' ||
         coalesce(nullif(l.called_name, ''), nullif(r.to_endpoint, ''), 'somebody') as parties
     from warehouse.recordings r left join warehouse.call_legs l on l.call_id = r.call_id and l.leg_key = r.unique_id
       left join secrets.links s on s.kind = 'recording' and s.owner = r.call_id and s.part = r.unique_id
     where r.call_id = ${id} and r.deleted_at is null order by r.started_at, r.unique_id limit ${maxOfEach}`,
  );
  const players = held.map(({ part, link: sealed, parties, started_at, duration_seconds }) => {
    const medium = openMedium(view, { kind: 'recording', owner: id, part, link: sealed });
    const words = html`${parties}, ${lengthOf(duration_seconds)}`;
    const at = started_at && view.clock(started_at, true);
    if ('why' in medium) return html`${at} ${words} <span class="soft">${medium.why}</span>`;
    return html`${at} ${link(medium.path, words)}<audio controls preload="none" src="${medium.path}"></audio>`;
  });
  const missing = [
    missingWords('Recordings', call.recordings_state, held.length),
    missingWords('Transcripts', call.transcripts_state, transcriptCount),
  ].join(' ');
  return html`${held.length > 0 && items(players)}${missing !== ' ' && soft(missing)}`;
}

const stateWords: Readonly<Record<string, string>> = {
  pending: 'not there yet, read again later',
  gone: 'no longer listed by the service',
  forbidden: 'the API key may not read them',
};

/** Empty if all are held. */
function missingWords(name: string, state: string | null, count: number): string {
  if (state === 'complete' && count > 0) return '';
  return `${name}: ${state === null ? 'not read yet' : (stateWords[state] ?? state)}.`;
}

/** What rules did about it. Transcripts arrive within a day, and rules act on them. */
async function rules(
  tx: Transaction,
  id: string,
  { started_at, number, line }: Call,
  keys: readonly string[],
  view: View,
) {
  const runs = await readRuns(
    tx,
    sql`r.line = ${line} and r.number = ${number} and r.trigger_key = any(${keys})
      and r.trigger_at >= ${started_at} and r.trigger_at < ${started_at}::timestamptz + interval '2 days'`,
    view,
  );
  const isNone = runs.length === 0;
  const why = link(`/rules/explain/${id}`, isNone ? 'Why not' : 'Why, rule by rule');
  return html`${!isNone && items(runs.map((each) => html`${view.time(each.trigger_at)} ${renderRun(each)}`))}<p class="note">${isNone && 'No rule matched. '}${why}</p>`;
}
