import { query, sql, type Transaction } from '../../db/database.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { isCallId } from '../../shared/thread.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html, withCode } from '../html.ts';
import { facts, items, link, type RecordPage, section, soft } from '../page.ts';
import { legStory, maxOfEach, readTranscripts, renderTranscript } from './call-story.ts';
import { openMedium } from './media.ts';
import { readRuns, renderRun } from './rule-runs.ts';
import { hiddenWords, type View } from './view.ts';
import { type Fields, lengthOf, outcomeWords, partyOf, type Showing } from './words.ts';

/** A call as reporting.fct_call has it, with the names of its people and lines. */
interface Call
  extends Fields<'call_id' | 'outcome' | 'wait_basis', string>,
    Fields<'caller_name' | 'caller_number' | 'called_name' | 'called_number' | 'dialled_number', string | null>,
    Fields<'external_number' | 'account_number' | 'direction', string | null>,
    Fields<'customer' | 'line_name' | 'answered_by' | 'placed_by', string | null>,
    Fields<'recordings_state' | 'transcripts_state', string | null>,
    Fields<'duration_seconds' | 'talk_seconds' | 'wait_seconds' | 'ring_seconds' | 'menu_seconds', number | null>,
    Fields<'answered_by_count' | 'transferred_count' | 'repeated_count', number | null>,
    Fields<'started_at' | 'ended_at', Date | null>,
    Fields<'is_internal' | 'has_legs' | 'is_erased', boolean> {}

/** What the imported contacts `k` say of the other party, besides the name. */
export const customerWords = sql`nullif(concat_ws(' · ', k.company, 'owner ' || k.owner, 'language ' || k.language,
  nullif(array_to_string(k.tags, ', '), '')), '')`;

/** The page of a call: who called whom, its way, and what came of it. Throws `BadAddress`. */
export async function callPage(tx: Transaction, id: string | undefined, showing: Showing): Promise<RecordPage> {
  if (id === undefined || !isCallId(id))
    throw new BadAddress('This is not the id of a call, such as 1783385492.057900.');
  const [call] = await query(
    tx,
    sql<Call>`select f.*, c.is_erased, c.recordings_state, c.transcripts_state,
       coalesce(case when f.direction = 'inbound' then k.name end, f.caller_name) as caller_name,
       coalesce(case when f.direction = 'outbound' then k.name end, f.called_name) as called_name,
       ${customerWords} as customer, l.name as line_name, a.user_name as answered_by, b.user_name as placed_by
     from reporting.fct_call f join warehouse.calls c using (call_id)
       left join warehouse.contacts k on k.number = warehouse.contact_number(f.external_number)
       left join warehouse.sms_lines l on l.line = f.account_number
       left join reporting.dim_user a on a.user_key = f.answered_user_key
       left join reporting.dim_user b on b.user_key = f.placed_user_key
     where f.call_id = ${id}`,
  );
  const toRead = toType(`resync call ${id}`);
  if (!call) throw new BadAddress(`The call ${id} is not held. To read it from the service: ${toRead}`, 404);
  const { view } = showing;
  const transcripts = await readTranscripts(tx, id);
  const keys = [id, ...transcripts.map(({ transcript_id }) => transcript_id)];
  const noLegs = call.has_legs
    ? 'The service lists no legs of this call.'
    : withCode(`Its legs were not read yet: ${toRead} reads them.`);
  return {
    title: titleOf(call),
    about: endWords(call),
    parts: [
      section('The call', overview(call, view)),
      section('What happened', (await legStory(tx, id, view)) ?? soft(noLegs)),
      await returns(tx, call, view),
      section('Recordings', await recordings(tx, call, showing, transcripts.length)),
      ...transcripts.map((each, at) =>
        renderTranscript(each, transcripts.length > 1 ? `Transcript ${at + 1}` : 'Transcript', view),
      ),
      !view.areWordsShown && hiddenWords,
      section('Rules', await rules(tx, call, keys, view)),
      call.external_number !== null && section('Texts with this number', await threads(tx, call, view)),
    ],
  };
}

const erased = 'a person who was erased';

function callerOf({ caller_name, caller_number, is_erased }: Call): string {
  return partyOf(caller_name, caller_number) ?? (is_erased ? erased : 'a withheld number');
}

function calledOf({ called_name, called_number, is_erased }: Call): string {
  return partyOf(called_name, called_number) ?? (is_erased ? erased : 'somebody');
}

function titleOf(call: Call): string {
  const ours = partyOf(call.line_name, call.account_number);
  if (call.direction === 'inbound' && !call.is_internal) return `${callerOf(call)} called ${ours ?? calledOf(call)}`;
  return `${call.placed_by ?? callerOf(call)} called ${calledOf(call)}`;
}

/** How it ended, in a sentence: `Answered by Ada Berg and 1 other after 46 s, connected for 8 min.` */
function endWords({ outcome, direction, answered_by, answered_by_count, ...call }: Call): string {
  const words = outcomeWords[outcome] ?? outcome;
  const others = (answered_by_count ?? 1) - 1;
  const by = answered_by === null ? '' : ` by ${answered_by}${others > 0 ? ` and ${countOf(others, 'other')}` : ''}`;
  const isKnown = outcome !== 'unknown' && direction === 'inbound' && call.wait_seconds !== null;
  const waited = isKnown ? ` after ${lengthOf(call.wait_seconds)}` : '';
  const talked = call.talk_seconds ? `, connected for ${lengthOf(call.talk_seconds)}` : '';
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${by}${waited}${talked}.`;
}

function overview(call: Call, view: View): Html {
  const isCoarse = call.wait_basis === 'duration_minus_talk';
  const waited = html`${lengthOf(call.wait_seconds)}${isCoarse && html` <small>with menus and ringing</small>`}`;
  return facts(view, [
    ['Began', view.time(call.started_at)],
    ['Ended', call.ended_at ?? 'no end reported'],
    ['Length', lengthOf(call.duration_seconds)],
    ['Connected', lengthOf(call.talk_seconds)],
    ['Waited', call.direction === 'inbound' && call.wait_seconds !== null && waited],
    ['In menus', call.menu_seconds ? lengthOf(call.menu_seconds) : false],
    ['Telephones rang', call.ring_seconds ? lengthOf(call.ring_seconds) : false],
    ['Direction', call.is_internal ? 'internal' : (call.direction ?? 'not reported')],
    ['Caller', callerOf(call)],
    ['Called', calledOf(call)],
    ['Customer', call.customer],
    ['Our number', partyOf(call.line_name, call.account_number)],
    ['Dialled', call.dialled_number !== call.account_number && call.dialled_number],
    ['Placed by', call.placed_by],
    ['Transfers', call.transferred_count || false],
    ['Earlier calls of the caller', call.repeated_count || false],
  ]);
}

/** As reporting.missed_calls has it. */
interface Missed extends Fields<'call_id', string>, Fields<'returned_by' | 'returned_call_id', string | null> {
  readonly started_at: Date;
  readonly returned_at: Date | null;
  readonly texted_at: Date | null;
  readonly reached_at: Date | null;
  readonly is_unreturned: boolean;
}

/** What returned the call, and the missed calls that it returned itself. */
async function returns(tx: Transaction, call: Call, { time }: View): Promise<Html | false> {
  // There is no index from a return to its missed call, so the party's calls within the callback window are searched.
  const missed = await query(
    tx,
    sql<Missed>`select m.* from reporting.missed_calls m where m.call_id = ${call.call_id}
     union all
     select m.* from reporting.params p
       cross join lateral (
         select call_id from warehouse.calls
         where external_number = ${call.external_number} and started_at <= ${call.started_at}
           and started_at >= ${call.started_at}::timestamptz - p.callback_window
           and direction = 'inbound' and status is distinct from 'answered'
         order by started_at limit ${maxOfEach}
       ) c join reporting.missed_calls m on m.call_id = c.call_id
     where m.returned_call_id = ${call.call_id}`,
  );
  const sentences = missed.map((each) =>
    each.call_id === call.call_id
      ? html`<p>${returnWords(each, time)}</p>`
      : html`<p>This call returned ${link(`/calls/${each.call_id}`, 'the missed call')} of ${time(each.started_at)}.</p>`,
  );
  return sentences.length > 0 && section('Return', html`<div class="prose">${sentences}</div>`);
}

const returnedBy: Readonly<Record<string, string>> = {
  called_back: 'called back, as the service reports',
  outbound_call: 'called back',
  caller_got_through: 'the caller called again and got through',
  text: 'a user texted the caller',
  automatic_text: 'A rule texted the caller',
  text_by_unknown: 'An unknown sender texted the caller',
};

function returnWords(missed: Missed, time: View['time']): Html {
  const { returned_by, returned_at, returned_call_id, reached_at } = missed;
  const words = returnedBy[returned_by ?? ''] ?? returned_by;
  if (missed.is_unreturned) {
    return html`Not returned${words !== null && html`. ${words} ${time(missed.texted_at)}, which is no return`}.`;
  }
  const way = html`${words}${returned_call_id !== null && html` (${link(`/calls/${returned_call_id}`, 'that call')})`}`;
  const reached =
    reached_at === null
      ? ' Nobody is known to have spoken with the caller since.'
      : reached_at.getTime() !== returned_at?.getTime() && html` Somebody spoke with the caller ${time(reached_at)}.`;
  return html`Returned${returned_at && html` ${time(returned_at)}`}: ${way}.${reached}`;
}

interface Recording extends Fields<'unique_id', string>, Fields<'from_party' | 'to_party' | 'link', string | null> {
  readonly started_at: Date | null;
  readonly duration_seconds: number | null;
}

/** The recordings with their players. They are hidden together with words. */
async function recordings(tx: Transaction, call: Call, showing: Showing, transcriptCount: number): Promise<Html> {
  const held = await query(
    tx,
    sql<Recording>`select r.unique_id, r.started_at, r.duration_seconds, s.link,
       coalesce(nullif(l.caller_name, ''), nullif(r.from_endpoint, ''), 'somebody') as from_party,
       coalesce(nullif(l.called_name, ''), nullif(r.to_endpoint, ''), 'somebody') as to_party
     from warehouse.recordings r left join warehouse.call_legs l on l.call_id = r.call_id and l.leg_key = r.unique_id
       left join secrets.links s on s.kind = 'recording' and s.owner = r.call_id and s.part = r.unique_id
     where r.call_id = ${call.call_id} and r.deleted_at is null order by r.started_at, r.unique_id limit ${maxOfEach}`,
  );
  const players = held.map(({ unique_id: part, link: sealed, ...each }) => {
    const medium = openMedium(showing, { kind: 'recording', owner: call.call_id, part, link: sealed });
    const words = html`${each.from_party} to ${each.to_party}, ${lengthOf(each.duration_seconds)}`;
    const at = each.started_at && showing.view.clock(each.started_at, true);
    if ('why' in medium) return html`${at} ${words} <span class="soft">${medium.why}</span>`;
    return html`${at} ${link(medium.path, words)}<audio controls preload="none" src="${medium.path}"></audio>`;
  });
  const states = [
    stateOf('Recordings', call.recordings_state, held.length),
    stateOf('Transcripts', call.transcripts_state, transcriptCount),
  ].filter((each) => each !== undefined);
  return html`${held.length > 0 && items(players)}${states.length > 0 && soft(states.join(' '))}`;
}

const stateWords: Readonly<Record<string, string>> = {
  pending: 'not there yet, read again later',
  gone: 'no longer listed by the service',
  forbidden: 'the API key may not read them',
};

/** Undefined if all are held. */
function stateOf(name: string, state: string | null, count: number): string | undefined {
  if (state === 'complete' && count > 0) return undefined;
  return `${name}: ${state === null ? 'not read yet' : (stateWords[state] ?? state)}.`;
}

async function rules(
  tx: Transaction,
  { call_id, started_at, external_number, account_number }: Call,
  keys: readonly string[],
  view: View,
): Promise<Html> {
  // Transcripts arrive within a day, and rules act on them.
  const runs = await readRuns(
    tx,
    sql`r.line = ${account_number} and r.number = ${external_number} and r.trigger_key = any(${keys})
      and r.trigger_at >= ${started_at} and r.trigger_at < ${started_at}::timestamptz + interval '2 days'`,
    view,
  );
  const isNone = runs.length === 0;
  const why = link(`/rules/explain/${call_id}`, isNone ? 'Why not' : 'Why, rule by rule');
  return html`${!isNone && items(runs.map((each) => html`${view.time(each.trigger_at)} ${renderRun(each)}`))}<p class="note">${isNone && 'No rule matched. '}${why}</p>`;
}

interface Thread extends Fields<'line' | 'number', string> {
  readonly message_count: number;
  readonly last_message_at: Date | null;
}

/** Threads with the other party, starting with the line that was called. */
async function threads(tx: Transaction, call: Call, { time }: View): Promise<Html> {
  const found = await query(
    tx,
    sql<Thread>`select line, number, message_count, last_message_at from warehouse.sms_conversations
     where number = ${call.external_number} and participants_key = '' and deleted_at is null
     order by line is distinct from ${call.account_number}, last_message_at desc nulls last limit ${maxOfEach}`,
  );
  if (found.length === 0) return soft(`No texts with ${call.external_number} are held.`);
  return items(
    found.map(({ line, number, message_count, last_message_at }) => {
      const texts = link(`/threads/${line}/${number}`, countOf(message_count, 'text'));
      return html`${texts} on line ${line}${last_message_at && html`, the last ${time(last_message_at)}`}`;
    }),
  );
}
