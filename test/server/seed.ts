import { type Database, query } from '../../src/db/database.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { lists } from '../../src/server/lists.ts';
import type { Facts } from '../reporting/facts.ts';

/* What the pages are looked at with. */

/** What a reader sees of the main part of a page, a line for each line there; a link is followed by its address. */
export function readable(page: string): string {
  return (/<main.*?<\/main>/s.exec(page)?.[0] ?? page)
    .replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, '')
    .replace(/\s+/g, ' ')
    .replace(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/g, '$2 [$1]')
    .replace(/<\/(?:p|li|tr|h\d|dd|summary|figcaption|legend)>|<br>/g, '\n')
    .replace(/<[^>]*>/g, ' ')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();
}

const startedAt = Date.now();
/** A day so many days back. */
export const dayOf = (back: number) => new Date(startedAt - back * 86_400_000).toISOString().slice(0, 10);

/** Two numbers, a queue and a huntgroup, and two agents, over four weeks: 28 days ago to yesterday. */
export async function fourWeeks(facts: Facts): Promise<void> {
  const queues = [
    { called_type: 'queue', called_number: '6001' },
    { called_type: 'huntgroup', called_number: '6002' },
  ];
  let ids = 0;
  const nextCall = () => {
    ids += 1;
    const padded = String(ids).padStart(6, '0');
    return { call_id: `1700${padded}.1`, external_number: `1555000${padded.slice(2)}` };
  };

  /** An inbound call through a queue that an agent answers, by its legs. */
  async function queued(at: string, account_number: string, queue: number, agent: number, values = {}) {
    const { call_id, external_number } = nextCall();
    const by = queues[queue];
    await facts.call({
      ...{ ...by, call_id, started_at: at, account_number, legs_fetched_at: at, legs_wait_seconds: 5 + ids * 3 },
      ...{ leg_count: 2, external_number, ...values },
    });
    const leg = { call_id, started_at: at, direction: 'inbound', status: 'answered', talk_seconds: 60 };
    const to = { called_type: 'user', called_number: `20${agent}` };
    await facts.insert(
      'warehouse.call_legs',
      { ...leg, ...by, leg_key: 'a', ordinal: 1, caller_type: 'external' },
      { ...leg, leg_key: 'b', ordinal: 2, caller_type: by?.called_type, ...to },
    );
    await facts.insert('warehouse.transcripts', {
      ...{ transcript_id: ids, call_id, leg_unique_id: 'b', leg_pairing: 'exact', short_summary: 'A refund' },
      call_sentiment: ['Positive', 'negative', 'neutral', 'calm', 'wary', 'glad & gay'][ids % 6],
    });
    await facts.measure(call_id);
  }

  /** A call that nobody answered; who called. */
  async function unanswered(at: string, account_number: string, queue: number, duration_seconds: number) {
    const call = nextCall();
    await facts.call({
      ...{ ...queues[queue], ...call, started_at: at, account_number, duration_seconds },
      ...{ status: 'missed', is_abandoned: true, talk_seconds: 0 },
      caller_name: ids === 7 ? '=HYPERLINK("x")' : 'Pat, of "Lamps"',
    });
    return call.external_number;
  }

  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  for (let back = 28; back >= 1; back -= 3) {
    const at = (time: string) => `${dayOf(back)}T${time}:00Z`;
    for (const [index, number] of ['15559990000', '15559990001'].entries()) {
      await queued(at('09:00'), number, index, 1);
      await queued(at('09:10'), number, 1 - index, 2);
      if (back % 2 === 0) await queued(at('09:20'), number, index, 1, { legs_wait_seconds: null });
      const external_number = await unanswered(at('10:00'), number, index, 40);
      await unanswered(at('10:05'), number, 1 - index, 2);
      if (back % 4 === 0) await unanswered(at('10:06'), number, index, 50);
      await facts.call({
        ...{ ...nextCall(), started_at: at('11:00'), account_number: number, direction: 'outbound', external_number },
        ...{ caller_type: 'user', caller_number: `20${1 + index}`, called_type: 'external' },
      });
      const texts = [
        [at('12:00'), 'in', { body: 'Where is my lamp?' }],
        [at('12:30'), 'out', { sent_by: 1 + index }],
        [at('13:00'), 'in'],
      ] as const;
      await facts.thread(1_000 + ids, texts, { line: number });
    }
  }
  await facts.query(
    `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at, units,
       reserved_micros, settled_micros, planned_at, reserved_at, dispatched_at)
     select 'thanks', '1555999000' || n % 2, 's' || n, 'message', n, at, 'live', 'Thank you', state, reason, at, 1, 100, settled, at,
       case when state <> 'DENIED' then at end, case when state = 'SENT' then at end
     from generate_series(1, 20) n
       cross join lateral (select date_trunc('day', now(), 'UTC') - make_interval(days => n) + interval '10 hours' as at) day
       cross join lateral (select * from (values (0, 'SENT', null, 7900), (1, 'DENIED', 'dry_run', null), (2, 'DENIED', 'gate:opted_out', null),
         (3, 'SENT', null, null), (4, 'UNKNOWN', null, null)) s (kind, state, reason, settled) where kind = n % 5) s`,
  );
  await facts.drain();
  await drainOutcomes(facts.db);
}

const [line, number, call] = ['18005550100', '18455550123', '1783385492.057900'];
const sendId = '11111111-1111-4111-8111-111111111111';
export const hostile = '=1+1<script>alert(1)</script>\u202e';

/** Every list, and a page of each kind of record, after `fill` and `strangersWrote`. The last quotes a text in small pieces only. */
export const listPaths = lists.map(({ name, at }) => (at === undefined ? `/${name}` : `/${name}?span=all`));
export const recordPaths = [
  ...[`/calls/${call}`, `/threads/${line}/${number}`, `/sends/${sendId}`, '/rules/history/1', '/rules/explain/70'],
];

/** Puts what a stranger may have written wherever a page shows words of others. */
export async function strangersWrote(db: Database): Promise<void> {
  for (const text of [
    'update reporting.params set is_text_shown = true',
    'update ops.deliveries set claimed_type = $1, content_type = $1, user_agent = $1, body = $1, targets = array[$1]',
    `insert into ops.deliveries (event_type, body, targets, is_recognized)
     select $1, $1, array['call ' || $1], true from generate_series(1, 98)`,
    'update ops.sync_targets set last_error = $1',
    `update warehouse.calls set caller_name = $1, caller_number = $1, called_name = $1, direction = 'inbound', external_number = '18455550123'`,
    `insert into warehouse.sms_conversations (conversation_id, line, number)
     overriding system value values (7, '18005550100', '18455550123')`,
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, from_number, direction, body, sent_at, delivery_error, opt_out_verdict,
       content_hash, source, fetch_seq, fetched_at)
     values (7, 70, '18005550100', '18455550123', $1, 'in', $1, now(), $1, 'unsure', 'h', $1, 1, now())`,
    `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at)
     values ('${sendId}', $1, '18005550100', '18455550123', 'message', '70', now(), 'live', $1, 'NEEDS_HUMAN', $1, now())`,
    `insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor) values ('${sendId}', null, 'PLANNED', 0, $1, 'rule')`,
    `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason, facts)
     values ($1, $1, 'message_received', '7/70', now(), '18005550100', '18455550123', 'live', true, $1, jsonb_build_object($1::text, $1::text))`,
    `insert into ops.rule_actions (run_id, ordinal, kind, state, reason, send_id) values (1, 1, 'reply', 'done', $1, '${sendId}')`,
    `insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at, checked_at, last_error)
     values ('calls', date_trunc('hour', now()) - interval '2 hours', date_trunc('hour', now()) - interval '1 hour', 'differs', true, 'infinity', now(), $1)`,
    `insert into ops.rule_versions (version, body, applied_by, why) values (1, $1, $1, $1)`,
  ])
    await query(db, text, text.includes('$1') ? [hostile] : []);
}

/** Rules of a file in which a text that begins with "hello" is answered so. */
export const rulesSaying = (words: string, more = '') => `# Our rules
rules:
  - name: hello
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: ${words} }]
    limits: { quiet_hours: none }
${more}`;
