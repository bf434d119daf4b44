import type { TriggerKind } from '../triggers.ts';
import { type FactGroup, type Facts, type FactsOf, groupsOf } from './declared.ts';

const now = new Date('2026-03-04T15:30:00Z');
const before = (hours: number) => new Date(now.getTime() - hours * 3_600_000);

const full: { readonly [G in FactGroup]: FactsOf<G> } = {
  message: { id: 7, text: 'Thanks, see you at 5!', plain: 'thanks see you at 5', media_count: 1, sent_at: now },
  thread: {
    line: '18455550100',
    number: '17185550123',
    exists: true,
    message_count: 4,
    inbound_count: 2,
    outbound_count: 2,
    last_direction: 'in',
    last_inbound_at: now,
    last_outbound_at: before(20),
    last_human_reply_at: before(20),
    is_resolved: true,
    assigned_user_id: 101,
  },
  line: { number: '18455550100', name: 'Front Desk', can_text: true, user_ids: [101, 102] },
  contact: {
    number: '17185550123',
    name: 'Pat Example',
    is_own_line: false,
    is_new: false,
    earlier_messages: 3,
    earlier_calls: 2,
    missed_calls_24h: 1,
    last_message_at: before(20),
    last_call_at: before(30),
  },
  hours: {
    is_open: true,
    is_holiday: false,
    weekday: 'wednesday',
    time: '10:30',
    date: '2026-03-04',
    opens_at: before(-22),
    closes_at: before(-6),
  },
  call: {
    id: '1772638200.12',
    direction: 'inbound',
    status: 'missed',
    started_at: before(0.1),
    ended_at: now,
    duration_seconds: 45,
    talk_seconds: 0,
    transferred_count: 0,
    is_abandoned: true,
    is_recorded: false,
    repeated_count: 1,
  },
  transcript: {
    id: 9,
    text: 'Hello.\nMy sink leaks.',
    summary: 'The sink leaks.',
    purpose: 'Repair',
    sentiment: 'negative',
    satisfaction: 4,
    performance: 8,
    is_action_required: true,
    is_urgent: true,
    action_note: 'Send a plumber.',
    agent_name: 'Sam',
  },
  replies: { count: 1, count_24h: 1, last_at: before(20) },
};

/** The same world with everything missing that can be missing. */
const sparse: { readonly [G in FactGroup]: FactsOf<G> } = {
  message: { id: 8, text: '', plain: '', media_count: 0, sent_at: now },
  thread: {
    line: '18455550100',
    number: '17185550123',
    exists: false,
    message_count: 0,
    inbound_count: 0,
    outbound_count: 0,
    last_direction: '',
  },
  line: { number: '18455550100', name: '', can_text: false, user_ids: [] },
  contact: {
    number: '17185550123',
    is_own_line: false,
    is_new: true,
    earlier_messages: 0,
    earlier_calls: 0,
    missed_calls_24h: 0,
  },
  hours: { is_open: false, is_holiday: true, weekday: 'sunday', time: '03:05', date: '2026-11-01' },
  call: { ...full.call, started_at: undefined, direction: 'outbound', status: 'unknown', repeated_count: 0 },
  transcript: { id: 10, text: '', is_action_required: false, is_urgent: false },
  replies: { count: 0, count_24h: 0 },
};

/** What rules are tried on when they are loaded, so that they do not fail on the first customer. */
export function fixturesOf(kind: TriggerKind): readonly Facts[] {
  return [full, sparse].map((world) => ({
    now,
    ...Object.fromEntries(groupsOf[kind].map((group) => [group, world[group]])),
  }));
}
