import { SegmentedMessage } from 'sms-segments-calculator';
import type { Account, AccountText } from './account.ts';
import { nameOf } from './agents.ts';
import { dateAt, isOpen, openSeconds, type Schedule, second } from './clock.ts';
import { grouped, percent, percentile, type Report, type Row, total } from './rows.ts';

/** Texts and turns, as the comments of `fct_sms_message`, `sms_turns` and the daily views define them. */

const partiesOf = ({ message }: AccountText) =>
  message.participants.length > 0 ? message.participants : [message.number];

/** Whose phone a text of ours rings: the number's, or of a group every member's. */
export const reachedBy = partiesOf;

/** Texts that were sent or came in; threads of people who were erased are gone, groups too. */
function heldTexts({ texts, erased }: Account): AccountText[] {
  return [...texts.values()].filter((text) => {
    const isScheduled = (text.message.scheduledAt ?? 0) > Date.parse('2090-01-01');
    return !isScheduled && !partiesOf(text).some((number) => erased.has(number));
  });
}

/** Texts of ours that are not known to have reached nobody. */
export function sentTexts(account: Account): AccountText[] {
  const { deliveryWords } = account.definitions;
  return heldTexts(account).filter((text) => !['blocked', 'failed', null].includes(classOf(text, deliveryWords)));
}

const wordOf = ({ message }: AccountText) => message.delivery?.status || null;
const errorOf = ({ message }: AccountText) => message.delivery?.error || null;

const segmentsOf = ({ message }: AccountText) =>
  message.direction === 'out' && message.media.length === 0 ? new SegmentedMessage(message.text).segmentsCount : null;

/** What the carrier's word means; an error that comes with no word, or one that is not mapped, is a failure. */
function classOf(text: AccountText, words: Readonly<Record<string, string>>): string | null {
  if (text.message.direction === 'in') return null;
  if (text.message.blockReason !== undefined) return 'blocked';
  const word = wordOf(text)?.trim().toLowerCase() ?? '';
  const mapped = words[word];
  if (mapped) return mapped;
  if (errorOf(text)) return 'failed';
  return word === '' ? 'no_receipt' : 'unmapped';
}

/** A rule sends through the ledger, with whoever's login; whom the service does not name is not known. */
function senderOf({ message, isOfRule }: AccountText): 'customer' | 'user' | 'automatic' | 'unknown' {
  if (message.direction === 'in') return 'customer';
  if (isOfRule) return 'automatic';
  return message.sentBy === undefined ? 'unknown' : 'user';
}

interface Turn {
  /** From 1 on in its thread. */
  readonly number: number;
  readonly thread: string;
  readonly line: string;
  readonly at: number;
  readonly inboundCount: number;
  readonly isSessionStart: boolean;
  readonly isLast: boolean;
  readonly firstReply: AccountText | undefined;
  readonly userReply: AccountText | undefined;
}

const threadOf = (text: AccountText) => `${text.message.line}/${partiesOf(text).join(',')}`;

function turnsOf(account: Account): Turn[] {
  const { sessionGap } = account.definitions;
  const threads = Map.groupBy(heldTexts(account), threadOf);
  return [...threads.entries()].flatMap(([thread, texts]) => {
    const sorted = texts.toSorted((a, b) => a.message.sentAt - b.message.sentAt || a.message.id - b.message.id);
    const turns: { texts: AccountText[]; session: AccountText[]; isSessionStart: boolean }[] = [];
    let session: AccountText[] = [];
    for (const [at, text] of sorted.entries()) {
      const before = sorted[at - 1]?.message;
      const isInbound = text.message.direction === 'in';
      const isSessionStart = isInbound && (!before || text.message.sentAt - before.sentAt > sessionGap);
      if (isSessionStart) session = [];
      session.push(text);
      if (isInbound && (isSessionStart || before?.direction === 'out')) {
        turns.push({ texts: [], session, isSessionStart });
      }
      turns.at(-1)?.texts.push(text);
    }
    return turns.map(({ texts: own, session: whole, isSessionStart }, at) => {
      const begin = own[0] as AccountText;
      const isReply = ({ message }: AccountText) => message.direction === 'out' && message.blockReason === undefined;
      const later = whole.slice(whole.indexOf(begin) + 1);
      return {
        ...{
          number: at + 1,
          thread,
          line: begin.message.line,
          at: begin.message.sentAt,
          isSessionStart,
          isLast: at === turns.length - 1,
        },
        inboundCount: own.filter(({ message }) => message.direction === 'in').length,
        firstReply: own.find(isReply),
        userReply: later.find((text) => isReply(text) && senderOf(text) === 'user'),
      };
    });
  });
}

export function textReports(account: Account, now: number): Report[] {
  const { timeZone: zone, deliveryWords, schedule } = account.definitions;
  const texts = heldTexts(account);
  const dateOf = ({ message }: AccountText) => dateAt(message.sentAt, zone);
  const kindOf = (text: AccountText) => classOf(text, deliveryWords);
  const days = grouped(texts, (text) => [dateOf(text), text.message.line]);
  const failures = texts.filter((text) => ['failed', 'blocked', 'unmapped'].includes(kindOf(text) ?? ''));
  const failed = grouped(failures, (text) => {
    return [dateOf(text), text.message.line, kindOf(text), wordOf(text), errorOf(text)];
  });
  const numbers = (items: readonly AccountText[]) => new Set(items.map(({ message }) => message.number)).size;
  const turns = turnsOf(account);
  return [
    {
      view: 'reporting.fct_sms_message',
      key: ['message_id'],
      rows: texts.map((text) => rowOf(account, text)),
      beside: ['conversation_id', 'send_id'],
    },
    {
      view: 'reporting.sms_daily',
      key: ['local_date', 'line'],
      rows: days.map(({ key: [local_date, line], items }) => {
        const of = (...kinds: string[]) => items.filter((text) => kinds.includes(kindOf(text) ?? '')).length;
        const by = (sender: string) => items.filter((text) => senderOf(text) === sender).length;
        const [delivered, isFailed, blocked] = [of('delivered'), of('failed'), of('blocked')];
        const outbound = by('user') + by('automatic') + by('unknown');
        return {
          ...{
            local_date,
            line,
            inbound_count: by('customer'),
            outbound_count: outbound,
            outbound_user_count: by('user'),
          },
          ...{
            outbound_automatic_count: by('automatic'),
            outbound_unknown_count: by('unknown'),
            outbound_user_estimated_segment_count: total(
              items.filter((text) => senderOf(text) === 'user').map(segmentsOf),
            ),
            number_count: numbers(items),
          },
          conversation_count: new Set(items.map(threadOf)).size,
          media_message_count: items.filter(({ message }) => message.media.length > 0).length,
          ...{ delivered_count: delivered, failed_count: isFailed, blocked_count: blocked },
          undetermined_count: of('in_flight', 'unknown', 'unmapped'),
          no_receipt_count: of('no_receipt'),
          failure_rate_pct: percent(isFailed, isFailed + delivered),
          receipt_coverage_pct: percent(isFailed + delivered, outbound - blocked),
        };
      }),
    },
    {
      view: 'reporting.sms_failures',
      key: ['local_date', 'line', 'delivery_class', 'delivery_status', 'delivery_error'],
      rows: failed.map(({ key: [local_date, line, delivery_class, delivery_status, delivery_error], items }) => {
        const times = items.map(({ message }) => message.sentAt);
        return {
          ...{ local_date, line, delivery_class, delivery_status, delivery_error, message_count: items.length },
          ...{
            number_count: numbers(items),
            first_at: new Date(Math.min(...times)),
            last_at: new Date(Math.max(...times)),
          },
        };
      }),
    },
    {
      view: 'reporting.fct_sms_turn',
      from: '(select t.*, number, participants_key from reporting.fct_sms_turn t join warehouse.sms_conversations using (conversation_id))',
      key: ['line', 'participants_key', 'number', 'turn_number'],
      beside: ['conversation_id'],
      rows: turns.map(({ firstReply, userReply, ...turn }) => {
        const [, ...parties] = turn.thread.split(/[/,]/);
        const seconds = (text: AccountText | undefined) => (text ? (text.message.sentAt - turn.at) / second : null);
        return {
          ...{
            line: turn.line,
            number: parties[0] ?? '',
            participants_key: parties.length > 1 ? parties.join(',') : '',
          },
          ...{ turn_number: turn.number, turn_started_at: new Date(turn.at), local_date: dateAt(turn.at, zone) },
          ...{ inbound_count: turn.inboundCount, is_session_start: turn.isSessionStart, is_last: turn.isLast },
          first_reply_at: firstReply ? new Date(firstReply.message.sentAt) : null,
          first_reply_kind: firstReply ? senderOf(firstReply) : null,
          first_user_reply_at: userReply ? new Date(userReply.message.sentAt) : null,
          first_user_reply_by: userReply?.message.sentBy ?? null,
          ...{ reply_seconds: seconds(firstReply), user_reply_seconds: seconds(userReply) },
          is_business_hours: isOpen(turn.at, schedule),
          user_reply_business_seconds: userReply ? businessSeconds(turn.at, userReply.message.sentAt, schedule) : null,
        };
      }),
    },
    {
      view: 'reporting.sms_response_daily',
      key: ['local_date', 'line'],
      rows: grouped(turns, ({ at, line }) => [dateAt(at, zone), line]).map(({ key: [local_date, line], items }) => ({
        ...{ local_date, line },
        ...responses(items, (from, to) => businessSeconds(from, to, schedule)),
      })),
    },
    {
      view: 'reporting.sms_unanswered',
      key: ['line', 'number', 'waiting_since_at'],
      beside: ['conversation_id', 'resolved_observed_at', 'assigned_observed_at'],
      rows: turns
        .filter(({ isLast, firstReply }) => isLast && !firstReply)
        .map(({ thread, line, at, inboundCount }) => ({
          ...{
            line,
            number: thread.split(/[/,]/)[1] ?? '',
            waiting_since_at: new Date(at),
            inbound_count: inboundCount,
          },
          waiting_seconds: (now - at) / second,
          waiting_business_seconds: openSeconds(at, now, schedule),
          last_inbound_at: new Date(
            Math.max(
              ...texts
                .filter((text) => threadOf(text) === thread)
                .map(({ message }) => (message.direction === 'in' ? message.sentAt : 0)),
            ),
          ),
          ...{ is_resolved: null, assigned_user_id: null, assigned_name: null, is_assignment_known: false },
        })),
      rounded: { waiting_seconds: 1, waiting_business_seconds: 1 },
    },
    optOuts(account),
  ];
}

function rowOf(account: Account, text: AccountText): Row {
  const { message } = text;
  const { delivery, sentBy, blockReason } = message;
  return {
    ...{
      message_id: message.id,
      line: message.line,
      number: message.number,
      is_group: message.participants.length > 0,
    },
    ...{ direction: message.direction, sent_at: new Date(message.sentAt) },
    local_date: dateAt(message.sentAt, account.definitions.timeZone),
    ...{
      body: null,
      body_length: message.text.length,
      estimated_segment_count: segmentsOf(text),
      has_media: message.media.length > 0,
    },
    ...{ sent_by: sentBy ?? null, sent_by_name: sentBy === undefined ? null : nameOf(account, sentBy) },
    ...{ sender_kind: senderOf(text), delivery_status: wordOf(text), delivery_error: errorOf(text) },
    ...{
      delivery_at: delivery ? new Date(delivery.at) : null,
      delivery_class: classOf(text, account.definitions.deliveryWords),
    },
    delivery_seconds: delivery ? (delivery.at - message.sentAt) / second : null,
    ...{ is_blocked: blockReason !== undefined, block_reason: blockReason ?? null },
    // As `sendByRule` of the mirror names it.
    rule: senderOf(text) === 'automatic' ? 'thanks' : null,
  };
}

/** Null where the business was closed all the way. */
function businessSeconds(from: number, to: number, schedule: Schedule): number | null {
  const seconds = openSeconds(from, to, schedule);
  return seconds > 0 || isOpen(from, schedule) || isOpen(to, schedule) ? seconds : null;
}

function responses(turns: readonly Turn[], open: (from: number, to: number) => number | null) {
  const calendar = (reply: 'firstReply' | 'userReply') => (turn: Turn) => {
    const text = turn[reply];
    return text ? [(text.message.sentAt - turn.at) / second] : [];
  };
  const business = (turn: Turn) => (turn.userReply ? (open(turn.at, turn.userReply.message.sentAt) ?? []) : []);
  const both = (values: readonly number[]) => [percentile(0.5, values), percentile(0.9, values)] as const;
  const sessions = turns.filter(({ isSessionStart }) => isSessionStart);
  const [replyHalf, replyMost] = both(turns.flatMap(calendar('firstReply')));
  const [userHalf, userMost] = both(turns.flatMap(calendar('userReply')));
  const [businessHalf, businessMost] = both(turns.flatMap(business));
  const [firstHalf, firstMost] = both(sessions.flatMap(calendar('userReply')));
  const [firstBusinessHalf, firstBusinessMost] = both(sessions.flatMap(business));
  const replied = turns.flatMap(({ firstReply }) => firstReply ?? []);
  const firstBy = (sender: string) => replied.filter((text) => senderOf(text) === sender).length;
  return {
    ...{ turn_count: turns.length, session_count: sessions.length, replied_count: replied.length },
    unreplied_count: turns.length - replied.length,
    user_replied_count: turns.filter(({ userReply }) => userReply).length,
    automatic_first_count: firstBy('automatic'),
    unknown_first_count: firstBy('unknown'),
    ...{ reply_p50_seconds: replyHalf, reply_p90_seconds: replyMost },
    ...{ user_reply_p50_seconds: userHalf, user_reply_p90_seconds: userMost },
    user_reply_business_count: turns.flatMap(business).length,
    first_response_business_count: sessions.flatMap(business).length,
    ...{ user_reply_p50_business_seconds: businessHalf, user_reply_p90_business_seconds: businessMost },
    first_response_count: sessions.filter(({ userReply }) => userReply).length,
    ...{ first_response_p50_seconds: firstHalf, first_response_p90_seconds: firstMost },
    ...{
      first_response_p50_business_seconds: firstBusinessHalf,
      first_response_p90_business_seconds: firstBusinessMost,
    },
  };
}

/**
 * Of a number on a line: since its last START the first STOP, else the first text that may be one, else that START. Of a START and a
 * STOP in the same second, the STOP counts.
 */
function optOuts(account: Account): Report {
  const said = heldTexts(account)
    .filter(({ verdict }) => verdict !== 'none')
    .map(({ message, verdict }) => ({ line: message.line, number: message.from, at: message.sentAt, kind: verdict }));
  const others = account.keptOptOuts.filter(({ number }) => !account.erased.has(number));
  return {
    view: 'reporting.sms_opt_status',
    key: ['line', 'number'],
    rows: grouped([...said, ...others], ({ line, number }) => [line, number]).map(({ key: [line, number], items }) => {
      const ofKind = (kind: string) => items.filter((each) => each.kind === kind).map(({ at }) => at);
      const optedInAt = Math.max(...ofKind('opt_in'), 0);
      const since = (kind: string) => ofKind(kind).filter((at) => at >= optedInAt);
      const status = ['opt_out', 'unsure'].find((kind) => since(kind).length > 0) ?? 'opt_in';
      const decidedAt = status === 'opt_in' ? optedInAt : Math.min(...since(status));
      return {
        ...{ line, number, is_opted_out: status === 'opt_out', opt_status: status, decided_at: new Date(decidedAt) },
        evidence: 'inbound_word',
      };
    }),
  };
}
