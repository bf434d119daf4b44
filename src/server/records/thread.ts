import { query, sql, type Transaction } from '../../db/database.ts';
import { toType } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { type Thread, threadKey, threadOf } from '../../shared/thread.ts';
import { spellingsOf, typedThreadKey } from '../../warehouse/phone-numbers.ts';
import { idOf, type Parameters, textOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { factsOf, link, type RecordPage, section } from '../page.ts';
import { codes, lengthOf } from '../words.ts';
import { type RuleRun, readRuns, renderRun } from './rule-runs.ts';
import { readTexts, renderText, type Text } from './thread-texts.ts';
import { customerWords, type Fields, hiddenWords, party, type View } from './view.ts';

interface Conversation extends Fields<'conversation_id' | 'ours' | 'theirs', string> {
  readonly message_count: number;
  readonly is_thread_complete: boolean;
  /** The opt-out state of the number that counts for the line. Null for a group. */
  readonly automatic_texts: 'opt_out' | 'unsure' | 'opt_in' | 'clear' | null;
}

/** A page of a thread, newest text at the bottom: the newest, or that around the text `text`. Throws `BadAddress`. */
export async function threadPage(tx: Transaction, typed: string, asked: Parameters, view: View): Promise<RecordPage> {
  const key = typedThreadKey(typed);
  if (key === undefined)
    throw new BadAddress(
      'This is not a thread: write /threads/line/number, and /threads/line/number,number for a group.',
    );
  const thread = threadOf(key);
  const { line, number, participants } = thread;
  const isGroup = participants.length > 0;
  const { conversation_id, ours, theirs, message_count, is_thread_complete, ...shown } = await readConversation(
    tx,
    thread,
  );
  const given = textOf(asked, 'text');
  const around = given === undefined ? undefined : idOf(given);
  const { texts, hasOlder, newer } = await readTexts(tx, conversation_id, number, around, view);
  const span = { from: (hasOlder && texts[0]?.sent_at) || '-infinity', until: newer?.sent_at ?? 'infinity' };
  const calls = isGroup ? [] : await readCalls(tx, thread, span);
  // A run on a call may have no conversation.
  const ofThread = isGroup ? sql`r.conversation_id` : sql`coalesce(r.conversation_id, ${conversation_id})`;
  const runs = await readRuns(
    tx,
    sql`r.line = ${line} and r.number = ${number} and ${ofThread} = ${conversation_id}
      and r.trigger_at >= ${span.from} and r.trigger_at < ${span.until}`,
    view,
  );
  const path = `/threads/${key}`;
  const [oldest, newest] = [texts[0]?.message_id, texts.at(-1)?.message_id];
  return {
    title: isGroup ? `Group of ${participants.join(', ')}` : `Texts with ${theirs}`,
    about: html`On ${ours} · ${countOf(message_count, 'text')} held${!is_thread_complete && ', perhaps not all: no read has listed the thread to its end'}${newest !== undefined && html` · <a class="link" href="#text-${newest}">To the newest</a>`}`,
    parts: [
      section('State', factsOf(view, shown)),
      shown.automatic_texts === 'unsure' &&
        html`<p class="reason prose">${link('/opt-outs#to-decide', 'Decide')} whether they opted out: no rule texts them until then.</p>`,
      hasOlder &&
        html`<nav class="turn" aria-label="Older texts"><a class="link" href="${path}?text=${oldest}" rel="prev">Older texts</a></nav>`,
      texts.length === 0
        ? html`<p class="hint">There are no texts on this page.</p>`
        : html`<ol class="thread">${entries(thread, { texts, calls, runs }, view)}</ol>`,
      around !== undefined &&
        html`<nav class="turn" aria-label="Newer texts">${newer && html`<a class="link" href="${path}?text=${newest}" rel="next">Newer texts</a>`}<a class="link" href="${path}">Newest texts</a></nav>`,
      !view.areWordsShown && hiddenWords,
      html`<p class="note">Texts that were deleted at the service are not shown.</p>`,
    ],
  };
}

/** Throws `BadAddress` if the thread isn't held, or never read because an erased person takes part. */
async function readConversation(tx: Transaction, thread: Thread): Promise<Conversation> {
  const key = threadKey(thread);
  const forms = spellingsOf(thread.number);
  // The service can't be asked whether a conversation is resolved now, so that is as old as its observation. An opt-out on any
  // line keeps rules from texting, except on a line with a later opt-in.
  const [found] = await query(
    tx,
    sql<Conversation & { readonly is_erased: boolean }>`select c.conversation_id, c.message_count, c.is_thread_complete,
       nullif(ops.is_erased_thread(${key}), false) as is_erased, ${party(sql`l.name`, sql`c.line`)} as ours, ${party(sql`k.name`, sql`c.number`)} as theirs,
       ${customerWords} as customer, case when c.is_resolved is null then 'not known: only answers to our own requests show it' else
         case when c.is_resolved then 'resolved' || coalesce(' by ' || u.user_name, '') else 'open' end ||
         case when c.last_inbound_at > c.resolved_observed_at then ', before a newer text of theirs' else '' end end as conversation,
       c.resolved_observed_at as observed_at, case when c.is_assignment_known then coalesce(a.user_name, 'nobody') else 'not known' end as assigned_to,
       case when c.participants_key = '' then coalesce(o.opt_status, 'clear') end as automatic_texts, o.evidence, o.decided_at,
       nullif(o.line, c.line) as decided_on, c.first_message_at as first_text, c.last_message_at as newest_text
     from (values (1)) one left join warehouse.sms_conversations c on c.line = ${thread.line} and c.number = ${thread.number}
         and c.participants_key = ${thread.participants.join(',')} and c.deleted_at is null
       left join warehouse.sms_lines l on l.line = c.line
       left join reporting.dim_user u on u.user_key = c.resolved_by
       left join reporting.dim_user a on a.user_key = c.assigned_user_id
       left join warehouse.contacts k on k.number = warehouse.contact_number(c.number) and c.participants_key = ''
       left join lateral (
         select s.* from reporting.sms_opt_status s
         where s.number = any(${forms}) and (s.line = c.line or s.opt_status in ('opt_out', 'unsure'))
         order by s.opt_status = 'opt_in' and s.decided_at > all (select d.decided_at from reporting.sms_opt_status d
             where d.number = any(${forms}) and d.opt_status in ('opt_out', 'unsure')) desc,
           array_position(array['opt_out', 'unsure'], s.opt_status), s.line = c.line desc, s.decided_at desc nulls last limit 1
       ) o on c.participants_key = ''`,
  );
  if (found?.is_erased)
    throw new BadAddress('This thread is not held: one of its participants was erased, so that it is never read.', 404);
  if (found?.conversation_id) return found;
  const toRead = toType(`resync thread ${key}`);
  throw new BadAddress(`The thread ${key} is not held. To read it from the service: ${toRead}`, 404);
}

interface ThreadCall extends Fields<'call_id' | 'outcome', string> {
  readonly started_at: Date;
  /** `They called 15559990001`, if on another line. */
  readonly who: string;
  readonly talk_seconds: number | null;
  readonly user_name: string | null;
}

const maxCalls = 50;

/** The calls between the texts of a page, newest first, and one more than is shown. */
function readCalls(
  tx: Transaction,
  { number, line }: Thread,
  { from, until }: Readonly<Record<'from' | 'until', Date | string>>,
): Promise<ThreadCall[]> {
  return query(
    tx,
    sql<ThreadCall>`select f.call_id, f.outcome, f.started_at, f.talk_seconds, u.user_name,
       case when direction = 'outbound' then 'We called' || coalesce(' from ' || nullif(account_number, ${line}), '')
         else 'They called' || coalesce(' ' || nullif(account_number, ${line}), '') end as who
     from (
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
  view: View,
): Html[] {
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
      content: renderText(text, take(`${text.conversation_id}/${text.message_id}`), thread, view),
    })),
    ...found.calls.slice(0, maxCalls).map((call) => aside(call.started_at, callWords(call, take(call.call_id)))),
  ];
  for (const run of [...runs.values()].flat()) all.push(aside(run.trigger_at, renderRun(run)));
  // Texts without a time stay at the end, where they were read.
  const timeOf = ({ at }: Entry) => at?.getTime() ?? Number.MAX_SAFE_INTEGER;
  const days = Map.groupBy(
    all.toSorted((a, b) => timeOf(a) - timeOf(b)),
    ({ at }) => at?.toLocaleDateString('en-GB', { timeZone: view.zone, dateStyle: 'full' }) ?? 'No time reported',
  );
  return [
    html`${found.calls.length > maxCalls && html`<li class="aside">Older calls of this time are left out.</li>`}`,
    ...[...days].map(([day, each]) => html`<li class="day">${day}</li>${each.map(({ content }) => content)}`),
  ];
}

function callWords({ call_id, who, outcome, user_name, talk_seconds }: ThreadCall, runs: readonly RuleRun[]): Html {
  const by = user_name !== null && ` (${user_name})`;
  const talk = talk_seconds ? `, ${lengthOf(talk_seconds)}` : '';
  return html`${link(`/calls/${call_id}`, who)}: ${codes.outcome[outcome] ?? outcome}${by}${talk}${runs.map((run) => html`<br>${renderRun(run)}`)}`;
}
