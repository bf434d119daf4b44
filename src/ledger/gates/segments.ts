import { SegmentedMessage } from 'sms-segments-calculator';

/**
 * The most segments that a text can be billed as (section 2.4). Where the specification and the real alphabet differ, in
 * vowels with an acute accent, the dearer reading counts, and every segment but the last is taken to waste a unit, as it
 * does when a character that costs two does not fit.
 */
export function worstSegments(text: string): number {
  if (text === '') return 0;
  const counted = new SegmentedMessage(text, 'auto', false);
  const isGsm7 = counted.encodingName === 'GSM-7';
  const units = isGsm7 ? text.length + (text.match(/[[\]{}\\^~|€\f]/g)?.length ?? 0) : text.length;
  const single = isGsm7 ? 160 : 70;
  const split = isGsm7 ? 152 : 66;
  return Math.max(counted.segmentsCount, units <= single ? 1 : Math.ceil(units / split));
}
