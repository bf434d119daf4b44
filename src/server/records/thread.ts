import { query, sql, type Transaction } from '../../db/database.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { type Thread, threadKey, threadOf, typedThreadKey } from '../../shared/thread.ts';
import { idOf, type Parameters, textOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { facts, link, type RecordPage, section } from '../page.ts';
import { customerWords } from './call.ts';
import { type RuleRun, readRuns, renderRun } from './rule-runs.ts';
import { readTexts, renderText, type Text } from './thread-texts.ts';
import { hiddenWords, type View } from './view.ts';
import { type Fields, lengthOf, outcomeWords, partyOf, type Showing } from './words.ts';

interface Conversation
  extends Fields<'line_name' | 'contact_name' | 'customer' | 'resolved_by' | 'assigned_to', string | null>,
    Fields<'first_message_at' | 'last_message_at' | 'resolved_observed_at', Date | null>,
    Fields<'is_thread_complete' | 'is_assignment_known' | 'is_stale', boolean> {
  readonly conversation_id: string;
  readonly message_count: number;
  readonly is_resolved: boolean | null;
  /** The number's opt-out state that counts for the line, as reporting.sms_opt_status has it. Null if there is none. */
  readonly opt_status: 'opt_out' | 'unsure' | 'opt_in' | 'clear' | null;
  readonly opt_line: string;
  readonly decided_at: Date | null;
  readonly evidence: 'inbound_word' | 'service_skip' | 'person';
}

/**
 * One page of a thread, newest text at the bottom: up to the text `until`, after the text `after`, or around the text
 * `text`. Throws `BadAddress`.
 */
export async function threadPage(
  tx: Transaction,
  typed: string,
  { query: asked, ...showing }: Showing & { readonly query: Parameters },
): Promise<RecordPage> {
  const key = typedThreadKey(typed);
  if (key === undefined) {
    throw new BadAddress(
      'This is not a thread: write /threads/line/number, and /threads/line/number,number for a group.',
    );
  }
  const thread = threadOf(key);
  const { view } = showing;
  const { line, number, participants } = thread;
  const isGroup = participants.length > 0;
  const held = await readConversation(tx, thread);
  const [until, after, around] = ['until', 'after', 'text'].map((name) => {
    const id = textOf(asked, name);
    return id === undefined ? undefined : idOf(id);
  });
  const { texts, older, newer } = await readTexts(tx, held.conversation_id, { number, until, after, around }, view);
  const span = {
    from: (older && texts[0]?.sent_at) ?? '-infinity',
    until: newer?.sent_at ?? 'infinity',
  };
  const calls = isGroup ? [] : await readCalls(tx, number, span);
  // A run on a call may have no conversation.
  const ofThread = isGroup ? sql`r.conversation_id` : sql`coalesce(r.conversation_id, ${held.conversation_id})`;
  const runs = await readRuns(
    tx,
    sql`r.line = ${line} and r.number = ${number} and ${ofThread} = ${held.conversation_id}
      and r.trigger_at >= ${span.from} and r.trigger_at < ${span.until}`,
    view,
  );
  const path = `/threads/${key}`;
  const isOlderPage = newer !== undefined || after !== undefined || texts.length === 0;
  const toTurn = (to: string, rel: string, name: string) =>
    html`<a class="link" href="${path}?${to}" rel="${rel}">${name}</a>`;
  const turn = (name: string, links: Html) => html`<nav class="turn" aria-label="${name}">${links}</nav>`;
  const ours = partyOf(held.line_name, line) ?? line;
  return {
    title: isGroup ? `Group of ${participants.join(', ')}` : `Texts with ${partyOf(held.contact_name, number)}`,
    about: html`On ${ours} · ${countOf(held.message_count, 'text')} held${!held.is_thread_complete && ', perhaps not all: no read has listed the thread to its end'}${texts.length > 0 && html` · <a class="link" href="#text-${texts.at(-1)?.message_id}">To the newest</a>`}`,
    parts: [
      section('State', overview(held, thread, view)),
      older !== undefined && turn('Older texts', toTurn(`until=${older.message_id}`, 'prev', 'Older texts')),
      texts.length === 0
        ? html`<p class="hint">There are no texts on this page.</p>`
        : html`<ol class="thread">${entries(thread, { texts, calls, runs }, showing)}</ol>`,
      isOlderPage &&
        turn(
          'Newer texts',
          html`${newer && toTurn(`after=${texts.at(-1)?.message_id}`, 'next', 'Newer texts')}<a class="link" href="${path}">Newest texts</a>`,
        ),
      !view.areWordsShown && hiddenWords,
      html`<p class="note">Texts that were deleted at the service are not shown.</p>`,
    ],
  };
}

/** Throws `BadAddress` if the thread isn't held, or never read because an erased person takes part. */
async function readConversation(tx: Transaction, thread: Thread): Promise<Conversation> {
  const key = threadKey(thread);
  // An opt-out on any line keeps rules from texting, except on a line with a later opt-in.
  const [found] = await query(
    tx,
    sql<
      Conversation & { readonly is_erased: boolean }
    >`select c.*, ops.is_erased_thread(${key}) as is_erased, l.name as line_name,
       k.name as contact_name, ${customerWords} as customer, u.user_name as resolved_by, a.user_name as assigned_to,
       coalesce(c.last_inbound_at > c.resolved_observed_at, false) as is_stale, o.line as opt_line, o.opt_status, o.decided_at, o.evidence
     from (values (1)) one left join warehouse.sms_conversations c on c.line = ${thread.line} and c.number = ${thread.number}
         and c.participants_key = ${thread.participants.join(',')} and c.deleted_at is null
       left join warehouse.sms_lines l on l.line = c.line
       left join reporting.dim_user u on u.user_id = c.resolved_by
       left join reporting.dim_user a on a.user_id = c.assigned_user_id
       left join warehouse.contacts k on k.number = warehouse.contact_number(c.number) and c.participants_key = ''
       left join lateral (
         select s.* from reporting.sms_opt_status s
         where s.number = ${thread.number} and (s.line = c.line or s.opt_status in ('opt_out', 'unsure'))
         order by s.opt_status = 'opt_in' desc, array_position(array['opt_out', 'unsure'], s.opt_status), s.line = c.line desc,
           s.decided_at desc nulls last limit 1
       ) o on c.participants_key = ''`,
  );
  if (found?.is_erased) {
    throw new BadAddress('This thread is not held: one of its participants was erased, so that it is never read.', 404);
  }
  if (found?.conversation_id) return found;
  const toRead = toType(`resync thread ${key}`);
  throw new BadAddress(`The thread ${key} is not held. To read it from the service: ${toRead}`, 404);
}

function overview(held: Conversation, { line, participants }: Thread, view: View): Html {
  return facts(view, [
    ['Customer', held.customer],
    ['Conversation', resolvedWords(held, view)],
    ['Assigned to', held.is_assignment_known ? (held.assigned_to ?? 'nobody') : 'not known'],
    ['Automatic texts', participants.length === 0 && optWords(held, line, view)],
    ['First text held', held.first_message_at],
    ['Newest text', held.last_message_at],
  ]);
}

/** The service can't be asked for the current state, so it is as old as its observation. */
function resolvedWords({ is_resolved, resolved_by, is_stale, resolved_observed_at }: Conversation, view: View): Html {
  if (is_resolved === null) return html`not known <small>only answers to our own requests show it</small>`;
  const by = is_resolved && resolved_by !== null && ` by ${resolved_by}`;
  const since = is_stale && ', before a newer text of theirs';
  return html`<span class="state">${is_resolved ? 'resolved' : 'open'}</span>${by} <small>as observed ${view.time(resolved_observed_at)}${since}</small>`;
}

const evidenceWords = {
  service_skip: 'the service skipped a text',
  person: 'a person decided',
  inbound_word: 'by their text',
} as const;

function optWords({ opt_status, opt_line, decided_at, evidence }: Conversation, line: string, view: View): Html {
  const when = html`${view.time(decided_at)}${opt_line !== line && opt_line !== '' && ` on ${opt_line}`}`;
  const how = html`<small>${evidenceWords[evidence]} ${when}</small>`;
  switch (opt_status) {
    case null:
      return html`not opted out`;
    case 'clear':
      return html`not opted out ${how}`;
    case 'opt_in':
      return html`opted in ${how}`;
    case 'opt_out':
      return html`<span class="problem">opted out</span> ${how}`;
    case 'unsure':
      return html`<span class="warning">may have opted out</span> ${how} <small><a href="/opt-outs#to-decide">decide</a></small>`;
  }
}

interface ThreadCall extends Fields<'call_id' | 'outcome', string> {
  readonly started_at: Date;
  readonly direction: string | null;
  readonly talk_seconds: number | null;
  readonly user_name: string | null;
  readonly account_number: string | null;
}

const maxCalls = 50;

/** The calls between the texts of a page, newest first, and one more than is shown. */
function readCalls(
  tx: Transaction,
  number: string,
  { from, until }: { readonly from: Date | string; readonly until: Date | string },
): Promise<ThreadCall[]> {
  return query(
    tx,
    sql<ThreadCall>`select f.*, u.user_name from (
       select * from reporting.fct_call where external_number = ${number} and started_at >= ${from} and started_at < ${until}
       order by started_at desc limit ${maxCalls + 1}
     ) f left join reporting.dim_user u on u.user_key = coalesce(f.answered_user_key, f.placed_user_key)
     order by f.started_at desc`,
  );
}

interface Entry {
  readonly at: Date | null;
  readonly content: Html;
}

/** Texts, calls and rules in order of time, with a heading for each day. */
function entries(
  thread: Thread,
  found: { readonly texts: readonly Text[]; readonly calls: readonly ThreadCall[]; readonly runs: readonly RuleRun[] },
  showing: Showing,
): Html[] {
  const { view } = showing;
  const runs = Map.groupBy(found.runs, ({ trigger_key }) => trigger_key);
  const take = (key: string) => {
    const taken = runs.get(key) ?? [];
    runs.delete(key);
    return taken;
  };
  const aside = (at: Date, content: Html): Entry => ({
    at,
    content: html`<li class="aside">${view.clock(at)} ${content}</li>`,
  });
  const all: Entry[] = [
    ...found.texts.map((text) => ({
      at: text.sent_at,
      content: renderText(text, take(`${text.conversation_id}/${text.message_id}`), thread, showing),
    })),
    ...found.calls
      .slice(0, maxCalls)
      .map((call) => aside(call.started_at, callWords(call, take(call.call_id), thread))),
  ];
  for (const run of [...runs.values()].flat()) all.push(aside(run.trigger_at, renderRun(run)));
  // Texts without a time stay at the end, where they were read.
  const timeOf = ({ at }: Entry) => at?.getTime() ?? Number.MAX_SAFE_INTEGER;
  const days = Map.groupBy(
    all.toSorted((a, b) => timeOf(a) - timeOf(b)),
    ({ at }) => at?.toLocaleDateString('en-GB', { timeZone: view.zone, dateStyle: 'full' }) ?? 'No time reported',
  );
  const isCut = found.calls.length > maxCalls;
  return [
    html`${isCut && html`<li class="aside">Older calls of this time are left out.</li>`}`,
    ...[...days].map(([day, each]) => html`<li class="day">${day}</li>${each.map(({ content }) => content)}`),
  ];
}

function callWords(call: ThreadCall, runs: readonly RuleRun[], { line }: Thread): Html {
  const isOurs = call.direction === 'outbound';
  const elsewhere = call.account_number !== line && call.account_number;
  const who = html`${isOurs ? 'We called' : 'They called'}${elsewhere && ` ${isOurs ? 'from ' : ''}${elsewhere}`}`;
  const by = call.user_name !== null && ` (${call.user_name})`;
  const talk = call.talk_seconds ? `, ${lengthOf(call.talk_seconds)}` : '';
  return html`${link(`/calls/${call.call_id}`, who)}: ${outcomeWords[call.outcome] ?? call.outcome}${by}${talk}${runs.map((run) => html`<br>${renderRun(run)}`)}`;
}
