import { type RawBuilder, sql } from 'kysely';
import { toTheSecond } from '../../shared/format.ts';
import type { LinkSealer } from '../../warehouse/links.ts';
import { type Html, html } from '../html.ts';

/** How pages show things to whoever reads them. */
export interface View {
  /** TIME_ZONE: of all times. */
  readonly zone: string;
  /** PAGES_WORDS: whether pages show what people wrote and said. */
  readonly areWordsShown: boolean;
  /** Opens the links to recordings and files. Undefined: they can't be played. */
  readonly sealer: LinkSealer | undefined;
  /** Who signed in with a name. */
  readonly user?: string | undefined;
  /** A time to the second, `2026-11-01 14:05:09`. A dash for none. */
  time(at: Date | null): Html;
  /** The time of day, `14:05`, or to the second. */
  clock(at: Date, isToTheSecond?: boolean): Html;
}

export function viewOf(zone: string, areWordsShown: boolean, sealer: LinkSealer | undefined): View {
  const stamp = (at: Date, text: string) => html`<time datetime="${at.toISOString()}">${text}</time>`;
  return {
    zone,
    areWordsShown,
    sealer,
    time: (at) => (at === null ? html`–` : stamp(at, toTheSecond(at, zone).slice(0, 19))),
    clock: (at, isToTheSecond = false) => stamp(at, toTheSecond(at, zone).slice(11, isToTheSecond ? 19 : 16)),
  };
}

/** Says that words are left out, and which setting shows them. */
export const hiddenWords = html`<p class="note">What people wrote and said is hidden by <code>PAGES_WORDS=hidden</code>.</p>`;

/** Columns of one type, of a row. */
export type Fields<Names extends string, Type> = Readonly<Record<Names, Type>>;

/** A party as people know it: `Ada Berg (208)`. Null if neither name nor number is reported. */
export function party(name: RawBuilder<unknown>, number: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`coalesce(nullif(nullif(${name}, ''), ${number}) || coalesce(' (' || nullif(${number}, '') || ')', ''), nullif(${number}, ''))`;
}

/** What the imported contacts `k` say of the other party, besides the name. */
export const customerWords = sql`nullif(concat_ws(' · ', k.company, 'owner ' || k.owner, 'language ' || k.language,
  nullif(array_to_string(k.tags, ', '), '')), '')`;
