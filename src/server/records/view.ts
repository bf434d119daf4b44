import { toTheSecond } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';

/** How pages show times, in TIME_ZONE, and whether they show what people wrote. */
export interface View {
  readonly zone: string;
  /** PAGES_WORDS: whether pages show what people wrote and said. */
  readonly areWordsShown: boolean;
  /** A time to the second, `2026-11-01 14:05:09`, or to the millisecond. A dash for none. */
  time(at: Date | null, isExact?: boolean): Html;
  /** The time of day, `14:05`, or to the second. */
  clock(at: Date, isToTheSecond?: boolean): Html;
}

export function viewOf(zone: string, areWordsShown: boolean): View {
  const stamp = (at: Date, text: string) => html`<time datetime="${at.toISOString()}">${text}</time>`;
  return {
    zone,
    areWordsShown,
    time(at, isExact = false) {
      if (at === null) return html`–`;
      const milliseconds = isExact ? `.${String(at.getMilliseconds()).padStart(3, '0')}` : '';
      return stamp(at, `${toTheSecond(at, zone).slice(0, 19)}${milliseconds}`);
    },
    clock: (at, isToTheSecond = false) => stamp(at, toTheSecond(at, zone).slice(11, isToTheSecond ? 19 : 16)),
  };
}

/** Says that words are left out, and which setting shows them. */
export const hiddenWords = html`<p class="note">What people wrote and said is hidden by <code>PAGES_WORDS=hidden</code>.</p>`;
