import { defaultRuleLimits, type RuleLimits } from '../limits.ts';
import type { Facts } from './facts.ts';

/** No person reads a text, thinks and writes within so many milliseconds; once, somebody may. */
const quickMs = 4_000;

/** How long after a text a send of ours still lets its repetition look like an answer, in milliseconds. */
const identicalWithinMs = 86_400_000;

/**
 * Whether the trigger looks like the work of a machine that answers us: then whatever we send brings the next. Undefined
 * when it does not.
 */
export function loopSign(facts: Facts, limits: Pick<RuleLimits, 'sameTexts' | 'quickAnswers'>): string | undefined {
  const { trigger, earlierInbound, ownSends, ownMessages } = facts;
  if (trigger?.direction !== 'in') return undefined;
  const said = plain(trigger.text);
  if (said !== '' && ownSends.some(({ text }) => plain(text) === said)) return 'echo';
  // Only since we began to answer: a person who asks twice is no machine.
  const same = earlierInbound.filter(
    ({ text, at }) =>
      plain(text) === said && ownSends.some((own) => own.at.getTime() > at.getTime() - identicalWithinMs),
  );
  if (said !== '' && same.length + 1 >= (limits.sameTexts ?? defaultRuleLimits.sameTexts)) return 'identical';
  const inbound = [trigger, ...earlierInbound];
  // All moments are the service's, in whole seconds.
  const isQuick = (own: Date, texts: typeof inbound) =>
    texts.some(({ at }) => at >= own && at.getTime() - own.getTime() < quickMs);
  const [newest, ...older] = ownMessages
    .filter((own) => own <= trigger.at)
    .toSorted((a, b) => b.getTime() - a.getTime());
  if (!newest || !isQuick(newest, [trigger])) return undefined;
  const slow = older.findIndex((own) => !isQuick(own, inbound));
  const quick = 1 + (slow < 0 ? older.length : slow);
  return quick >= (limits.quickAnswers ?? defaultRuleLimits.quickAnswers) ? 'too_fast' : undefined;
}

function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
