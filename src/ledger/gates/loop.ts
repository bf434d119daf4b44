import type { Facts } from './facts.ts';

/** No person reads a text, thinks and writes within so many seconds. */
const fastestPersonSeconds = 4;

/**
 * Whether the trigger looks like the work of a machine that answers us: then whatever we send brings the next. Undefined
 * when it does not.
 */
export function loopSign(facts: Facts): string | undefined {
  if (facts.trigger?.direction !== 'in') return undefined;
  const said = plain(facts.trigger.text);
  if (said !== '' && facts.ownTexts.some((text) => plain(text) === said)) return 'echo';
  if (said !== '' && facts.earlierInbound.some((text) => plain(text) === said)) return 'identical';
  // Both moments are the service's, in whole seconds.
  const sinceOurs = facts.trigger.at.getTime() - (facts.ownMessageAt?.getTime() ?? Number.NaN);
  return sinceOurs >= 0 && sinceOurs < fastestPersonSeconds * 1_000 ? 'too_fast' : undefined;
}

function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
