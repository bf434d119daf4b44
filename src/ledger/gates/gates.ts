import { type AccountLimits, defaultRuleLimits } from '../limits.ts';
import type { Send } from '../send.ts';
import { zonesOfNumber } from '../zones/zones.ts';
import { isAllowedCountry, isCostlyNumber } from './countries.ts';
import type { Facts } from './facts.ts';
import { loopSign } from './loop.ts';
import { hasOptedOut, optOutVerdict } from './opt-out.ts';
import { openFrom } from './quiet-hours.ts';

/** What the gates say of a send at one moment. */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'hold'; readonly until: Date }
  /** Something that ends soon stands in the way. The send grows older meanwhile. */
  | { readonly kind: 'wait'; readonly reason: string }
  | { readonly kind: 'expire' };

/** Shorter numbers are codes of services, which answer by machine. E.164 has at most fifteen digits. */
const [shortestNumber, longestNumber] = [7, 15];

/** Nothing is kept for longer than this to be sent, in seconds. */
const longestHoldSeconds = 86_400;

type Judged = Pick<Send, 'number' | 'line' | 'text' | 'trigger' | 'limits' | 'expiresAt' | 'plannedAt'>;

/**
 * Judges a send by every gate but the budgets; the gravest verdict counts. A rule's limits reach the gates of age, of
 * people and of quiet hours; nothing reaches the others. `isBlocked` says whether the line has blocked the number.
 */
export function judge(
  send: Judged,
  facts: Facts,
  isBlocked: boolean,
  { countries }: Pick<AccountLimits, 'countries'>,
): Verdict {
  if (facts.now > send.expiresAt) return { kind: 'expire' };
  const reason = refusal(send, facts, isBlocked, countries);
  if (reason !== undefined) return { kind: 'deny', reason: `gate:${reason}` };
  // A rule that answers the newer text takes the place of this send; when none does, this one goes out.
  if (facts.isNewerUndecided) return { kind: 'wait', reason: 'gate:newer_inbound' };
  return quietVerdict(send, facts);
}

function refusal(
  send: Judged,
  facts: Facts,
  isBlocked: boolean,
  countries: AccountLimits['countries'],
): string | undefined {
  const { number, line, trigger } = send;
  if (facts.ruleMode === 'off') return 'rule_off';
  if (!/^\d+$/.test(number) || number.length > longestNumber) return 'no_number';
  if (number.length < shortestNumber) return 'short_code';
  if (number === line || facts.isOwnNumber) return 'own_number';
  if (isCostlyNumber(number)) return 'costly_number';
  if (!isAllowedCountry(number, countries, [line, ...facts.ownPrefixes])) return 'country';
  if (facts.isErased) return 'erased';
  if (facts.isGroup) return 'group';
  if (hasOptedOut(line, facts.saidTexts, facts.skips)) return 'opted_out';
  if (facts.trigger?.direction === 'in' && optOutVerdict(facts.trigger.text) === 'unsure') return 'opt_out_unsure';
  if (isBlocked) return 'blocked';
  if (trigger.kind === 'message' && facts.trigger === null) return 'trigger_gone';
  if (facts.hasNewerInbound && send.limits.needsSilence) return 'newer_inbound';
  if (facts.isAnswered) return 'answered';
  const minutes = send.limits.humanMinutes ?? defaultRuleLimits.humanMinutes;
  if (facts.humanAt !== null && facts.now.getTime() - facts.humanAt.getTime() < minutes * 60_000) return 'human_wrote';
  const loop = loopSign(facts, send.limits);
  return loop === undefined ? undefined : `loop_${loop}`;
}

function quietVerdict({ number, limits, plannedAt }: Judged, { now }: Facts): Verdict {
  const quiet = limits.quietHours ?? defaultRuleLimits.quietHours;
  if (quiet === 'none') return { kind: 'pass' };
  const zones = zonesOfNumber(number);
  if (zones.length === 0) return { kind: 'deny', reason: 'gate:unknown_zone' };
  const until = openFrom(now, zones, quiet);
  if (until === undefined || until.getTime() - plannedAt.getTime() > longestHoldSeconds * 1_000)
    return { kind: 'expire' };
  return until > now ? { kind: 'hold', until } : { kind: 'pass' };
}
