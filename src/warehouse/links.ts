import { hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';

/** Encrypts a link for one owner: it can't be opened for another. */
export interface LinkSealer {
  seal(link: string, belongsTo: string): string;
  /** Undefined if the link was sealed with another key or for another owner, or was changed. */
  open(sealed: string, belongsTo: string): string | undefined;
}

/** The audio of a recorded leg of a call, or a file attached to a text. */
export type LinkKind = 'recording' | 'file';

interface Link {
  /** The id of the call, or `conversation/message`. */
  readonly owner: string;
  /** The recorded leg, or the position of the file in the text, from 1. */
  readonly part: string;
  readonly url: string | undefined;
  /** Undefined: links aren't stored. */
  readonly sealer: LinkSealer | undefined;
}

/** The owner and part of a link, as they are sealed with it. */
export function belongingOf(kind: LinkKind, { owner, part }: Pick<Link, 'owner' | 'part'>): string {
  return [kind, owner, part].join(' ');
}

/**
 * Stores links that aren't held. A held link that can't be opened is replaced. Of several for one part, the last
 * counts.
 */
export async function storeLinks(tx: Transaction, kind: LinkKind, links: readonly Link[]): Promise<void> {
  const given = new Map<string, Link & { readonly url: string; readonly sealer: LinkSealer }>();
  for (const { url, sealer, ...place } of links) {
    if (url && sealer) given.set(belongingOf(kind, place), { ...place, url, sealer });
  }
  if (given.size === 0) return;
  const held = await query(
    tx,
    sql<{ owner: string; part: string; link: string }>`
      select owner, part, link from secrets.links where kind = ${kind} and owner = any(${[...given.values()].map(({ owner }) => owner)})`,
  );
  for (const row of held) {
    const belongsTo = belongingOf(kind, row);
    const same = given.get(belongsTo);
    if (same && same.sealer.open(row.link, belongsTo) === same.url) given.delete(belongsTo);
  }
  if (given.size === 0) return;
  const sealed = [...given].map(([belongsTo, { sealer, url, ...place }]) => ({
    ...place,
    link: sealer.seal(url, belongsTo),
  }));
  await hotQuery(
    tx,
    sql`
      insert into secrets.links (kind, owner, part, link)
      select ${kind}, owner, part, link from ${relation('l', sealed, { owner: 'text', part: 'text', link: 'text' })}
      order by owner, part
      on conflict (kind, owner, part) do update set link = excluded.link`,
  );
}
