import { expect, test } from 'vitest';
import { judge } from '../../../src/ledger/gates/gates.ts';
import type { DatedText, GateInputs } from '../../../src/ledger/gates/inputs.ts';
import type { AccountLimits } from '../../../src/ledger/limits.ts';

/* Noon in New York, where the number and the line are. */
const noon = new Date('2026-05-05T16:00:00Z');
const ago = (seconds: number) => new Date(noon.getTime() - seconds * 1_000);
const day = 86_400;
const dated = (text: string, seconds: number): DatedText => ({ text, at: ago(seconds) });

interface State extends Partial<Omit<Parameters<typeof judge>[0] & GateInputs, 'trigger'>> {
  readonly isBlocked?: boolean;
  readonly countries?: AccountLimits['countries'];
  readonly trigger?: Parameters<typeof judge>[0]['trigger'];
  /** The text of the trigger; null once it is gone. */
  readonly said?: string | null;
  readonly direction?: string;
}

const usual = {
  ...{ number: '12125550188', line: '16465550100', text: 'We are open', limits: {}, approvedAt: null },
  ...{ trigger: { kind: 'message' as const, id: '1', at: ago(60) }, plannedAt: ago(30), expiresAt: ago(-30 * day) },
  ...{ now: noon, isPaused: false, highestUnitMicros: 0, ruleMode: 'live' as const, isOwnNumber: false, callerIds: [] },
  ...{ hasTalked: false, isErased: false, ownPrefixes: ['1646'], isGroup: false, hasNewerInbound: false },
  ...{ isNewerUndecided: false, isAwaitingSteps: false, isAnswered: false, humanAt: null, ownMessages: [] },
  ...{ earlierInbound: [], ownSends: [], wasBlocked: false, optOuts: [], isBlocked: false },
  ...{ said: 'Are you open?', direction: 'in' },
} as const;

function verdictIn(changes: State): string {
  const state = { ...usual, ...changes };
  const text = state.said === null ? null : { text: state.said, at: state.trigger.at, direction: state.direction };
  const verdict = judge(state, { ...state, trigger: text }, state.isBlocked, { countries: changes.countries as never });
  if (verdict.kind === 'hold') return `hold ${verdict.until.toISOString().slice(5, 16)}`;
  if (verdict.kind === 'wait') return `wait ${verdict.reason}`;
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind;
}

const followUp = { limits: { isFollowUp: true } };
const call = { trigger: { kind: 'call', id: '1.1', at: ago(60) }, said: null } as const;
const optedOut = (kind: 'opt_out' | 'unsure') => ({ optOuts: [{ line: '', at: ago(day), kind }] });
const night = new Date('2026-05-06T02:00:00Z');

test.each<[verdict: string, what: string, state: State]>([
  ['pass', 'nothing is in the way', {}],
  ['pass', 'it leaves in its last millisecond', { expiresAt: noon }],
  ['expire', 'it is a millisecond late', { expiresAt: ago(0.001) }],
  ['expire', 'it is late, whatever else is in the way', { expiresAt: ago(1), isErased: true }],
  ['gate:rule_off', 'its rule is off', { ruleMode: 'off' }],
  ['pass', 'its rule is on trial: the caller decides', { ruleMode: 'dry-run' }],
  ['gate:short_code', 'a short code', { number: '72345' }],
  ['gate:short_code', 'the longest short code', { number: '723456' }],
  ['gate:no_number', 'seven digits', { number: '7234567890123456' }],
  ['gate:no_number', 'a number that nobody can have', { number: '11234567890' }],
  ['gate:no_number', 'a foreign number read as ours', { number: '13725551234', callerIds: ['+372 555 1234'] }],
  ['gate:own_number', 'the line itself', { number: usual.line }],
  ['gate:own_number', 'a number of the account', { isOwnNumber: true }],
  ['gate:costly_number', 'a premium number, its country listed', { number: '19005550123', countries: ['1'] }],
  ['gate:country', 'a number abroad', { number: '447700900123' }],
  ['pass', 'a number abroad that is listed', { number: '447700900123', countries: ['44'] }],
  ['pass', 'a number in the country of another line', { number: '447700900123', ownPrefixes: ['4420'] }],
  ['gate:erased', 'somebody who was erased', { isErased: true }],
  ['gate:group', 'a text in a group', { isGroup: true }],
  ['gate:opted_out', 'an opt-out', optedOut('opt_out')],
  ['gate:opt_out_unsure', 'what may be an opt-out', optedOut('unsure')],
  ['gate:blocked', 'a number that the line has blocked', { isBlocked: true }],
  ['pass', 'one that was blocked: the caller asks the service', { wasBlocked: true }],
  ['gate:trigger_gone', 'its text was deleted', { said: null }],
  ['pass', 'a call has no text', call],
  ['pass', 'a newer text that the rules have seen', { hasNewerInbound: true }],
  ['gate:newer_inbound', 'it follows up on silence, and they wrote', { ...followUp, hasNewerInbound: true }],
  ['pass', 'it follows up on silence', followUp],
  ['gate:answered', 'somebody answered', { isAnswered: true }],
  ['gate:human_wrote', 'a person wrote within half an hour', { humanAt: ago(1_799.999) }],
  ['pass', 'a person wrote half an hour ago', { humanAt: ago(1_800) }],
  ['gate:human_wrote', 'its rule waits longer', { humanAt: ago(7_199), limits: { humanMinutes: 120 } }],
  ['pass', 'its rule does not wait', { humanAt: noon, limits: { humanMinutes: 0 } }],
  ['gate:talked', 'they have talked since', { hasTalked: true }],
  ['gate:loop_echo', 'they repeat our words', { said: 'we are CLOSED', ownSends: [dated('We are closed!', day)] }],
  ['pass', 'both are without words', { said: '👍', ownSends: [dated('…', day)] }],
  [
    'wait gate:newer_inbound',
    'the rules have not seen a newer text',
    { isNewerUndecided: true, isAwaitingSteps: true },
  ],
  ['wait gate:earlier_steps', 'earlier steps', { isAwaitingSteps: true, now: night }],
  ['gate:talked', 'a refusal before a wait', { hasTalked: true, isNewerUndecided: true }],
  ['gate:opted_out', 'the first refusal of several', { ...optedOut('opt_out'), isBlocked: true, isAnswered: true }],
  ['hold 05-06T12:00', 'night, until eight in the morning', { now: night }],
  ['pass', 'night, for a rule that may', { now: night, limits: { quietHours: 'none' } }],
  ['hold 05-05T17:00', 'quiet hours of its rule', { limits: { quietHours: { from: '11:30', to: '13:00' } } }],
  ['pass', 'the first minute that is not quiet', { limits: { quietHours: { from: '11:30', to: '12:00' } } }],
  ['hold 05-06T12:00', 'a night of a day at most', { now: night, plannedAt: new Date('2026-05-05T12:00Z') }],
  ['expire', 'a night of more than a day', { now: night, plannedAt: new Date('2026-05-05T11:59:59Z') }],
  ['hold 05-06T12:00', 'a day since the approval', { now: night, plannedAt: ago(9 * day), approvedAt: noon }],
  ['gate:unknown_zone', 'a number whose zone nobody knows', { number: '999123456789', countries: ['999'] }],
])('%s: %s', (verdict, _, state) => {
  expect(verdictIn(state)).toBe(verdict);
});

/* The trigger came a minute ago, ours and theirs so many seconds ago. */
const repeated = (texts: readonly number[], ours: readonly number[], said = 'We got your text!'): State => ({
  said,
  earlierInbound: texts.map((seconds) => dated(said.toLowerCase(), seconds)),
  ownSends: ours.map((seconds) => dated('Hello', seconds)),
});
const answered = (ours: readonly number[], texts: readonly number[]): State => ({
  ownMessages: ours.map(ago),
  earlierInbound: texts.map((seconds) => dated(`${seconds}`, seconds)),
});

test.each<[verdict: string, what: string, state: State]>([
  ['gate:loop_identical', 'the third equal text', repeated([90, 120], [300])],
  ['pass', 'the second', repeated([90], [300])],
  ['pass', 'without a text of ours', repeated([90, 120], [])],
  ['gate:loop_identical', 'a text of ours less than a day before', repeated([90, 120], [day + 89])],
  ['pass', 'a text of ours a day before', repeated([90, 120], [day + 120])],
  ['pass', 'without words', repeated([90, 120], [300], '!')],
  ['pass', 'a text of our own', { ...repeated([90, 120], [300]), direction: 'out' }],
  ['gate:loop_too_fast', 'two answers in a row within four seconds', answered([63.999, 123], [121])],
  ['pass', 'the last one took four seconds', answered([64, 123], [121])],
  ['pass', 'the one before took four seconds', answered([62, 125], [121])],
  ['pass', 'the first quick answer', answered([62], [])],
  ['gate:loop_too_fast', 'a text of ours after the trigger aside', answered([59, 62, 123], [121])],
  ['pass', 'two answers, and neither to our last text', answered([70, 122, 182], [121, 181])],
])('%s of a machine: %s', (verdict, _, state) => {
  expect(verdictIn({ ...state, limits: { quietHours: 'none', humanMinutes: 0 } })).toBe(verdict);
});
