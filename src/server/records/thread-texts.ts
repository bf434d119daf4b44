import { query, sql, type Transaction } from '../../db/database.ts';
import { countOf } from '../../shared/format.ts';
import type { Thread } from '../../shared/thread.ts';
import { type Html, html } from '../html.ts';
import { link, soft } from '../page.ts';
import { openMedium } from './media.ts';
import { type RuleRun, renderRun } from './rule-runs.ts';
import type { Fields, Showing, View } from './view.ts';

/* The texts on a page of a thread, as bubbles. */

export interface Text
  extends Fields<'conversation_id' | 'message_id', string>,
    Fields<'direction' | 'from_number' | 'user_name' | 'rule' | 'block_reason' | 'opt_out_verdict', string | null>,
    Fields<'delivery_class' | 'delivery_status' | 'delivery_error', string | null>,
    Fields<'length' | 'media_count', number>,
    Fields<'sent_at' | 'scheduled_at', Date | null>,
    Fields<'is_scheduled' | 'is_newer', boolean> {
  /** Null if no direction is reported, and for a scheduled text. */
  readonly sender_kind: 'customer' | 'user' | 'automatic' | 'unknown' | null;
  /** Null while texts are hidden, and after their removal. */
  readonly body: string | null;
  readonly files: readonly { readonly part: string; readonly link: string }[];
}

const textsPerPage = 50;
/** Number of newer texts on a page around a text. */
const newerAround = 10;

/** The page, by the id of a text. Without any, the newest page. */
interface Place {
  readonly number: string;
  readonly until?: string | undefined;
  readonly after?: string | undefined;
  readonly around?: string | undefined;
}

/** A page of texts, oldest first, and the texts beside it. Texts without a time count as newest. */
export async function readTexts(
  tx: Transaction,
  conversationId: string,
  { number, until, after, around }: Place,
  { areWordsShown }: View,
): Promise<{ readonly texts: readonly Text[]; readonly older: Text | undefined; readonly newer: Text | undefined }> {
  const id = until ?? after ?? around ?? null;
  const newerCount = after !== undefined ? textsPerPage : around !== undefined ? newerAround : 0;
  const olderCount = textsPerPage - newerCount;
  const at = sql`(select sent_at from warehouse.sms_messages where conversation_id = ${conversationId} and message_id = ${id}::bigint)`;
  // The index on (number, sent_at) provides the order, because a thread can have very many texts.
  const isOf = sql`m.number = ${number} and m.conversation_id = ${conversationId} and m.deleted_at is null`;
  const upTo = id === null ? sql`` : sql`and m.sent_at <= ${at} and (m.sent_at, m.message_id) <= (${at}, ${id})`;
  const found = await query(
    tx,
    sql<Text>`select m.conversation_id, m.message_id, m.direction, m.from_number, m.sent_at, m.scheduled_at, m.block_reason, m.opt_out_verdict,
       m.is_scheduled is true as is_scheduled, coalesce(m.media_count, 0) as media_count, case when ${areWordsShown} then m.body end as body,
       coalesce(char_length(m.body), m.body_length, 0) as length, m.is_newer, f.sender_kind, f.rule, f.delivery_class, f.delivery_status,
       f.delivery_error, u.user_name, (
         select coalesce(json_agg(json_build_object('part', l.part, 'link', l.link) order by l.part::integer), '[]') from secrets.links l
         where l.kind = 'file' and l.owner = m.conversation_id || '/' || m.message_id) as files
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
    texts: [...olderTexts.slice(-olderCount || olderTexts.length), ...newerTexts.slice(0, newerCount)],
    older: olderTexts.length > olderCount ? olderTexts[0] : undefined,
    newer: newerTexts[newerCount],
  };
}

const notDelivered = ['failed', 'blocked'];

/** A text as a bubble, with its sender, its delivery, and what rules did about it. */
export function renderText(text: Text, runs: readonly RuleRun[], thread: Thread, showing: Showing): Html {
  const { view } = showing;
  const isInbound = text.direction === 'in';
  const meta = [
    text.is_scheduled && html`not sent yet: scheduled for ${view.time(text.scheduled_at)}`,
    deliveryWords(text),
    verdicts[text.opt_out_verdict ?? ''] !== undefined && html`${verdicts[text.opt_out_verdict ?? '']}`,
  ].filter((each) => each !== false);
  const isUnmatched = isInbound && runs.length === 0 && thread.participants.length === 0;
  return html`<li class="text ${isInbound ? 'in' : 'out'}${notDelivered.includes(text.delivery_class ?? '') && ' failed'}" id="text-${text.message_id}">
<p class="who">${senderOf(text, thread)} ${text.sent_at && view.clock(text.sent_at)}</p>
<div class="bubble">${contentOf(text, showing)}</div>
${meta.length > 0 && html`<p class="meta">${meta.map((each, at) => html`${at > 0 && ' · '}${each}`)}</p>`}
${runs.map((run) => html`<p class="meta">${renderRun(run)}</p>`)}
${isUnmatched && html`<p class="meta">No rule matched: ${link(`/rules/explain/${text.message_id}`, 'why')}</p>`}</li>`;
}

function senderOf(
  { direction, from_number, sender_kind, user_name, rule, is_scheduled }: Text,
  { number }: Thread,
): Html {
  if (direction === 'in') return html`${from_number ?? number}`;
  if (sender_kind === 'automatic') return html`Automatic${rule !== null && html`: rule <b>${rule}</b>`}`;
  return html`${user_name ?? (sender_kind === 'user' ? 'A user' : !is_scheduled && 'Unknown sender')}`;
}

function contentOf(text: Text, showing: Showing): Html {
  const { body, length, media_count } = text;
  const files = showing.view.areWordsShown ? text.files : [];
  const media =
    files.length > 0
      ? html`<p class="files">${files.map(({ part, link: sealed }) => {
          const owner = `${text.conversation_id}/${text.message_id}`;
          const medium = openMedium(showing, { kind: 'file', owner, part, link: sealed });
          if ('why' in medium) return html`<span class="soft">File ${part}. ${medium.why}</span>`;
          const isPicture = /\.(jpe?g|png|gif|webp)$/i.test(medium.url.pathname);
          return link(
            medium.path,
            isPicture ? html`<img src="${medium.path}" alt="File ${part}" loading="lazy">` : `File ${part}`,
          );
        })}</p>`
      : media_count > 0 && html`<p class="tag">${countOf(media_count, 'file')}</p>`;
  if (length === 0) return media || soft('no words');
  const missing = `${countOf(length, 'character')}, ${showing.view.areWordsShown ? 'removed after RETENTION_DAYS' : 'hidden'}`;
  return html`${body === null ? soft(missing) : html`<p class="body" dir="auto">${body}</p>`}${media}`;
}

const verdicts: Readonly<Record<string, string>> = {
  opt_out: 'opts out of automatic texts',
  opt_in: 'opts in to automatic texts',
  unsure: 'may opt out: rules text them no more until somebody decides',
};

const deliveries: Readonly<Record<string, string>> = {
  delivered: 'delivered',
  in_flight: 'on its way',
  failed: 'not delivered',
  blocked: 'not delivered: blocked',
  no_receipt: 'no receipt yet',
};

function deliveryWords({ delivery_class, delivery_status, delivery_error, block_reason }: Text): Html | false {
  if (delivery_class === null) return false;
  const words = deliveries[delivery_class] ?? 'delivery not known';
  const isPlain = ['delivered', 'in_flight', 'no_receipt'].includes(delivery_class);
  const why = delivery_class === 'blocked' ? block_reason : !isPlain && (delivery_error ?? delivery_status);
  const isProblem = notDelivered.includes(delivery_class);
  return html`${isProblem ? html`<span class="problem">${words}</span>` : words}${why && ` (${why})`}`;
}
