import { query, sql, type Transaction } from '../../db/database.ts';
import { countOf } from '../../shared/format.ts';
import type { Thread } from '../../shared/thread.ts';
import { type Html, html } from '../html.ts';
import { link, soft } from '../page.ts';
import { openMedium } from './media.ts';
import { type RuleRun, renderRun } from './rule-runs.ts';
import type { Fields, View } from './view.ts';

/* The texts on a page of a thread, as bubbles. */

export interface Text extends Fields<'conversation_id' | 'message_id', string> {
  readonly direction: string | null;
  readonly sender: string | null;
  readonly sent_at: Date | null;
  /** Of a text that wasn't sent yet. */
  readonly scheduled_at: Date | null;
  /** Null while texts are hidden, and after their removal. */
  readonly body: string | null;
  readonly length: number;
  readonly media_count: number;
  readonly files: readonly { readonly part: string; readonly link: string }[];
  readonly opt_out_verdict: string | null;
  readonly delivery_class: string | null;
  readonly delivery_why: string | null;
  readonly is_newer: boolean;
}

const textsPerPage = 50;

/** A page of texts around the text `around`, or the newest, oldest first. Texts without a time count as newest. */
export async function readTexts(
  tx: Transaction,
  conversationId: string,
  number: string,
  around: string | undefined,
  { areWordsShown }: View,
): Promise<Readonly<{ texts: readonly Text[]; hasOlder: boolean; newer: Text | undefined }>> {
  const id = around ?? null;
  const newerCount = around === undefined ? 0 : textsPerPage / 2;
  const olderCount = textsPerPage - newerCount;
  const at = sql`(select sent_at from warehouse.sms_messages where conversation_id = ${conversationId} and message_id = ${id}::bigint)`;
  // The index on (number, sent_at) provides the order, because a thread can have very many texts.
  const isOf = sql`m.number = ${number} and m.conversation_id = ${conversationId} and m.deleted_at is null`;
  const upTo = id === null ? sql`` : sql`and m.sent_at <= ${at} and (m.sent_at, m.message_id) <= (${at}, ${id})`;
  const found = await query(
    tx,
    sql<Text>`select m.conversation_id, m.message_id, m.direction, m.sent_at, m.opt_out_verdict, m.is_newer, f.delivery_class,
       case when m.is_scheduled then m.scheduled_at end as scheduled_at, coalesce(m.media_count, 0) as media_count,
       case when ${areWordsShown} then m.body end as body, coalesce(char_length(m.body), m.body_length, 0) as length,
       case when m.direction = 'in' then coalesce(m.from_number, m.number)
         when f.sender_kind = 'automatic' then 'Automatic' || coalesce(': rule ' || f.rule, '')
         else coalesce(u.user_name, case when f.sender_kind = 'user' then 'A user' when m.is_scheduled is not true then 'Unknown sender' end)
         end as sender,
       case when f.delivery_class = 'blocked' then m.block_reason
         when f.delivery_class not in ('delivered', 'in_flight', 'no_receipt') then coalesce(f.delivery_error, f.delivery_status) end as delivery_why,
       (select coalesce(json_agg(json_build_object('part', l.part, 'link', l.link) order by l.part::integer), '[]') from secrets.links l
         where ${areWordsShown} and l.kind = 'file' and l.owner = m.conversation_id || '/' || m.message_id) as files
     from (
       (select m.*, false as is_newer from warehouse.sms_messages m where ${isOf} ${upTo}
         order by m.sent_at desc nulls first, m.message_id desc limit ${olderCount + 1})
       union all
       (select m.*, true from warehouse.sms_messages m
         where ${isOf} and m.sent_at >= ${at} and (m.sent_at, m.message_id) > (${at}, ${id}::bigint)
         order by m.sent_at, m.message_id limit ${newerCount + 1})
     ) m
       left join reporting.fct_sms_message f on f.conversation_id = m.conversation_id and f.message_id = m.message_id
       left join reporting.dim_user u on u.user_key = m.sent_by
     order by m.sent_at, m.message_id`,
  );
  const olderTexts = found.filter(({ is_newer }) => !is_newer);
  const newerTexts = found.filter(({ is_newer }) => is_newer);
  return {
    texts: [...olderTexts.slice(-olderCount), ...newerTexts.slice(0, newerCount)],
    hasOlder: olderTexts.length > olderCount,
    newer: newerTexts[newerCount],
  };
}

/** A text as a bubble, with its sender, its delivery, and what rules did about it. */
export function renderText(text: Text, runs: readonly RuleRun[], thread: Thread, view: View): Html {
  const { delivery_class: delivery, delivery_why: why, message_id: id } = text;
  const isInbound = text.direction === 'in';
  const isFailed = delivery === 'failed' || delivery === 'blocked';
  const meta = [
    text.scheduled_at && html`not sent yet: scheduled for ${view.time(text.scheduled_at)}`,
    delivery !== null &&
      html`<span class="${isFailed && 'problem'}">${deliveries[delivery] ?? 'delivery not known'}</span>${why && ` (${why})`}`,
    verdicts[text.opt_out_verdict ?? ''],
  ].flatMap((each) => each || []);
  const isUnmatched = isInbound && runs.length === 0 && thread.participants.length === 0;
  return html`<li class="text ${isInbound ? 'in' : 'out'}${isFailed && ' failed'}" id="text-${id}">
<p class="who">${text.sender} ${text.sent_at && view.clock(text.sent_at)}</p>
<div class="bubble">${contentOf(text, view)}</div>
${meta.length > 0 && html`<p class="meta">${meta.map((each, at) => html`${at > 0 && ' · '}${each}`)}</p>`}
${runs.map((run) => html`<p class="meta">${renderRun(run)}</p>`)}
${isUnmatched && html`<p class="meta">No rule matched: ${link(`/rules/explain/${id}`, 'why')}</p>`}</li>`;
}

function contentOf({ body, length, media_count, files, ...text }: Text, view: View): Html {
  const owner = `${text.conversation_id}/${text.message_id}`;
  const shown = files.map(({ part, link: sealed }) => {
    const medium = openMedium(view, { kind: 'file', owner, part, link: sealed });
    if ('why' in medium) return html`<span class="soft">File ${part}. ${medium.why}</span>`;
    const isPicture = /\.(jpe?g|png|gif|webp)$/i.test(medium.url.pathname);
    const picture = isPicture && html`<img src="${medium.path}" alt="File ${part}" loading="lazy">`;
    return link(medium.path, picture || `File ${part}`);
  });
  const media =
    shown.length > 0
      ? html`<p class="files">${shown}</p>`
      : media_count > 0 && html`<p class="tag">${countOf(media_count, 'file')}</p>`;
  if (length === 0) return media || soft('no words');
  const missing = `${countOf(length, 'character')}, ${view.areWordsShown ? 'removed after RETENTION_DAYS' : 'hidden'}`;
  return html`${body === null ? soft(missing) : html`<p class="body" dir="auto">${body}</p>`}${media}`;
}

const verdicts: Readonly<Record<string, Html>> = {
  opt_out: html`opts out of automatic texts`,
  opt_in: html`opts in to automatic texts`,
  unsure: html`may opt out: rules text them no more until somebody decides`,
};

const deliveries: Readonly<Record<string, string>> = {
  delivered: 'delivered',
  in_flight: 'on its way',
  failed: 'not delivered',
  blocked: 'not delivered: blocked',
  no_receipt: 'no receipt yet',
};
