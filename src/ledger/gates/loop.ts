import type { Facts } from './facts.ts';

/** No person reads a text, thinks and writes within so many seconds. */
const fastestPersonSeconds = 4;

/** How long after a text a send of ours still lets its repetition look like an answer, in milliseconds. */
const identicalWithinMs = 86_400_000;

/**
 * Whether the trigger looks like the work of a machine that answers us: then whatever we send brings the next. Undefined
 * when it does not.
 */
export function loopSign(facts: Facts): string | undefined {
  if (facts.trigger?.direction !== 'in') return undefined;
  const said = plain(facts.trigger.text);
  if (said !== '' && facts.ownSends.some(({ text }) => plain(text) === said)) return 'echo';
  // Only since we began to answer: a person who asks twice is no machine.
  const isIdentical = facts.earlierInbound.some(
    ({ text, at }) =>
      plain(text) === said && facts.ownSends.some((own) => own.at.getTime() > at.getTime() - identicalWithinMs),
  );
  if (said !== '' && isIdentical) return 'identical';
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
