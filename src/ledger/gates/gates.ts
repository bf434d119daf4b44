import { dayMs } from '../../shared/time-range.ts';
import { countryCodeOf, isForeignRead, isPhoneNumber } from '../../warehouse/phone-numbers.ts';
import { normalize } from '../../warehouse/phrases.ts';
import { type AccountLimits, defaultRuleLimits } from '../limits.ts';
import type { Send } from '../send.ts';
import type { GateInputs, OptOut } from './inputs.ts';
import { firstAllowedMoment, zonesOfNumber } from './quiet-hours.ts';

/** The decision of the gates about a send at one moment. */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'hold'; readonly until: Date }
  /** An obstacle that will end soon. The age of the send keeps growing. */
  | { readonly kind: 'wait'; readonly reason: string }
  | { readonly kind: 'expire' };

/** The maximum time that quiet hours may hold a send. */
const maxHoldMs = dayMs;

type Judged = Pick<Send, 'number' | 'line' | 'text' | 'trigger' | 'limits' | 'expiresAt' | 'plannedAt' | 'approvedAt'>;

/** The input of a gate. */
interface Given {
  readonly send: Judged;
  readonly inputs: GateInputs;
  /** The line has blocked the number. */
  readonly isBlocked: boolean;
  readonly countries: AccountLimits['countries'];
}

/** The reason why a gate refuses a send, without `gate:`; undefined if the send passes. */
type Gate = (given: Given) => string | undefined;

const gate =
  (name: string, refuses: (given: Given) => boolean): Gate =>
  (given) =>
    refuses(given) ? name : undefined;

/** The gates that can refuse a send, in order. The first refusal decides. */
const refusingGates: readonly Gate[] = [
  gate('rule_off', ({ inputs }) => inputs.ruleMode === 'off'),
  gate('short_code', ({ send: { number } }) => /^\d{1,6}$/.test(number)),
  gate(
    'no_number',
    ({ send: { number }, inputs }) => !isPhoneNumber(number) || isForeignRead(number, inputs.callerIds),
  ),
  gate('own_number', ({ send: { number, line }, inputs }) => number === line || inputs.isOwnNumber),
  gate('costly_number', ({ send }) => isCostlyNumber(send.number)),
  gate(
    'country',
    ({ send: { number, line }, inputs, countries }) =>
      !isAllowedCountry(number, countries, [line, ...inputs.ownPrefixes]),
  ),
  gate('erased', ({ inputs }) => inputs.isErased),
  gate('group', ({ inputs }) => inputs.isGroup),
  gate('opted_out', ({ send: { line }, inputs }) => hasOptedOut(line, inputs.optOuts)),
  gate('opt_out_unsure', ({ send: { line }, inputs }) => hasOptedOut(line, inputs.optOuts, 'unsure')),
  gate('blocked', ({ isBlocked }) => isBlocked),
  gate('trigger_gone', ({ send: { trigger }, inputs }) => trigger.kind === 'message' && inputs.trigger === null),
  gate('newer_inbound', ({ send: { limits }, inputs }) => inputs.hasNewerInbound && limits.isFollowUp === true),
  gate('answered', ({ inputs }) => inputs.isAnswered),
  gate(
    'human_wrote',
    ({ send: { limits }, inputs: { humanAt, now } }) =>
      humanAt !== null &&
      now.getTime() - humanAt.getTime() < (limits.humanMinutes ?? defaultRuleLimits.humanMinutes) * 60_000,
  ),
  gate('talked', ({ inputs }) => inputs.hasTalked),
  ({ inputs }) => detectLoop(inputs),
];

/**
 * Applies every gate except the budgets to a send. `isBlocked`: the line has blocked the number. A rule's limits only
 * affect the gates for age, human answers and quiet hours.
 */
export function judge(
  send: Judged,
  inputs: GateInputs,
  isBlocked: boolean,
  { countries }: Pick<AccountLimits, 'countries'>,
): Verdict {
  if (inputs.now > send.expiresAt) return { kind: 'expire' };
  const given = { send, inputs, isBlocked, countries };
  for (const refusalBy of refusingGates) {
    const reason = refusalBy(given);
    if (reason !== undefined) return { kind: 'deny', reason: `gate:${reason}` };
  }
  // If a rule answers the newer text, its send supersedes this one. Otherwise this one is sent.
  if (inputs.isNewerUndecided) return { kind: 'wait', reason: 'gate:newer_inbound' };
  if (inputs.isAwaitingSteps) return { kind: 'wait', reason: 'gate:earlier_steps' };
  return judgeQuietHours(send, inputs);
}

function judgeQuietHours({ number, limits, plannedAt, approvedAt }: Judged, { now }: GateInputs): Verdict {
  const quiet = limits.quietHours ?? defaultRuleLimits.quietHours;
  if (quiet === 'none') return { kind: 'pass' };
  const zones = zonesOfNumber(number);
  if (zones.length === 0) return { kind: 'deny', reason: 'gate:unknown_zone' };
  const until = firstAllowedMoment(now, zones, quiet);
  if (until === undefined || until.getTime() - (approvedAt ?? plannedAt).getTime() > maxHoldMs)
    return { kind: 'expire' };
  return until > now ? { kind: 'hold', until } : { kind: 'pass' };
}

/**
 * Whether opt-outs, or texts that may be opt-outs, forbid texting a number from a line. A later opt-in ends one on the
 * line of either; of the same second, an opt-out wins. `optOuts` may be in any order.
 */
export function hasOptedOut(
  line: string,
  optOuts: GateInputs['optOuts'],
  kind: 'opt_out' | 'unsure' = 'opt_out',
): boolean {
  const optIns = optOuts.filter((each) => each.kind === 'opt_in');
  const isOver = (out: OptOut) => optIns.some((each) => each.at > out.at && [out.line, line].includes(each.line));
  return optOuts.some((each) => each.kind === kind && !isOver(each));
}

/** Nobody can read a text, think and answer within this time more than once in a row. */
const quickMs = 4_000;

/** A text equal to one of our sends looks like an automatic answer if it comes within this time. */
const identicalWithinMs = dayMs;

/** So many equal texts, or quick answers in a row, come from a machine. */
const machineTexts = 3;
const machineAnswers = 2;

/**
 * Detects a trigger that looks like an automatic answer, to which our reply would cause the next one: it repeats our
 * text, it repeats itself, or it came too quickly too often. Undefined for all others.
 */
function detectLoop(inputs: GateInputs): 'loop_echo' | 'loop_identical' | 'loop_too_fast' | undefined {
  const { trigger, earlierInbound, ownSends, ownMessages } = inputs;
  if (trigger?.direction !== 'in') return undefined;
  const words = wordsOf(trigger.text);
  if (words !== '' && ownSends.some(({ text }) => wordsOf(text) === words)) return 'loop_echo';
  // Repetitions only count after a send of ours: a person may ask twice.
  const same = earlierInbound.filter(
    ({ text, at }) =>
      wordsOf(text) === words && ownSends.some((own) => own.at.getTime() > at.getTime() - identicalWithinMs),
  );
  if (words !== '' && same.length + 1 >= machineTexts) return 'loop_identical';
  const inbound = [trigger, ...earlierInbound];
  // Both times come from the service, in whole seconds.
  const isAnsweredFast = (own: Date, texts: typeof inbound) =>
    texts.some(({ at }) => at >= own && at.getTime() - own.getTime() < quickMs);
  const [newest, ...older] = ownMessages
    .filter((own) => own <= trigger.at)
    .toSorted((a, b) => b.getTime() - a.getTime());
  if (!newest || !isAnsweredFast(newest, [trigger])) return undefined;
  const slow = older.findIndex((own) => !isAnsweredFast(own, inbound));
  const quick = 1 + (slow < 0 ? older.length : slow);
  return quick >= machineAnswers ? 'loop_too_fast' : undefined;
}

function wordsOf(text: string): string {
  return normalize(text, 'NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** Area codes of +1 outside the United States, its territories and Canada, by country. Texts to these cost more. */
const nanpCountries = '242|246|264|268|284|345|441|473|649|658 876|664|721|758|767|784|809 829 849|868|869'
  .split('|')
  .map((areas) => areas.split(' '));

/**
 * The country of a number or of a prefix, digits only, named by the digits its numbers begin with: `44` for
 * 442079460000, `1` for the United States and Canada, `1` and an area code for other countries under +1.
 */
export function countryOf(digits: string): string {
  if (digits.startsWith('1')) {
    const areas = nanpCountries.find((group) => group.includes(digits.slice(1, 4)));
    return areas ? `1${areas[0]}` : '1';
  }
  return countryCodeOf(digits);
}

/** Prefixes, from the numbering plans, of premium-rate and satellite numbers. */
const costlyPrefixes = [
  // Satellites and networks without a country, international shared-cost and premium-rate services.
  '870 881 882 883 878 808 979',
  // National premium-rate ranges.
  '1900 3190 3290 3389 34803 34806 34807 34905 358600 358700 3989 41900 41901 41906 43900 43901 43930 43931 43939',
  '4470 4487 449 4590 46900 46939 46944 47820 47829 4870 49137 49900 52900 55900 61190 64900 7803 7809 90900 9721900',
]
  .join(' ')
  .split(' ');

/** Exchange 976 is premium rate in every area code of +1. */
const costlyExchange = /^1\d{3}976\d{4}$/;

/** Whether a number (digits only) belongs to a premium-rate service or a satellite network. */
export function isCostlyNumber(number: string): boolean {
  return costlyExchange.test(number) || costlyPrefixes.some((prefix) => number.startsWith(prefix));
}

/**
 * Whether automatic replies to a number are allowed. `allowed` lists the prefixes from the rules file. Without a list,
 * the countries of the account's own lines are allowed.
 */
export function isAllowedCountry(
  number: string,
  allowed: readonly string[] | undefined,
  ownLines: readonly string[],
): boolean {
  const country = countryOf(number);
  return (allowed ?? ownLines).some((each) => countryOf(each) === country);
}
