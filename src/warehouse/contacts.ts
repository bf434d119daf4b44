import { query, relationOf, sql, type Transaction } from '../db/database.ts';
import { storableJson } from '../shared/storable.ts';
import { erasedAmong } from './erasure/erased.ts';

/** What the owner's list of customers can tell of a number. */
export const contactFields = ['name', 'company', 'owner', 'language', 'tags'] as const;
export type ContactField = (typeof contactFields)[number];

/** A row of the list. */
export interface Contact extends Readonly<Record<Exclude<ContactField, 'tags'>, string | null>> {
  /** Normalised. */
  readonly number: string;
  readonly tags: readonly string[];
}

/** The stored contacts. `erased`: the numbers that weren't stored, because their person was erased. */
export interface Imported {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly erased: ReadonlySet<string>;
}

/** Adds contacts, and updates the given fields of those that exist. `replace` removes all others. */
export async function storeContacts(
  tx: Transaction,
  contacts: readonly Contact[],
  { fields, replace }: { readonly fields: readonly ContactField[]; readonly replace: boolean },
): Promise<Imported> {
  const erased = await erasedAmong(tx, () => contacts.map(({ number }) => number));
  const kept = contacts.filter(({ number }) => !erased.has(number));
  const types = Object.fromEntries(fields.map((field) => [field, field === 'tags' ? 'text[]' : 'text']));
  const given = relationOf(sql`${storableJson(kept)}`, 'given', { number: 'text', ...types });
  const columns = (of: string) => sql.join(['number', ...fields].map((field) => sql.ref(of + field)));
  const [counts] = await query(
    tx,
    sql<{ added: number; changed: number }>`
      with written as (
        insert into warehouse.contacts as held (${columns('')})
        select ${columns('')} from ${given} order by number
        on conflict (number) do update set (${columns('')}, changed_at) = (select ${columns('excluded.')}, now())
        where row(${columns('held.')}) is distinct from row(${columns('excluded.')})
        returning xmax = 0 as is_added
      )
      select count(*) filter (where is_added)::integer as added, count(*) filter (where not is_added)::integer as changed
      from written`,
  );
  const removed = replace
    ? await query(
        tx,
        sql`delete from warehouse.contacts c where not exists (
            select from unnest(${kept.map(({ number }) => number)}::text[]) kept (number) where kept.number = c.number)
          returning 1`,
      )
    : [];
  return {
    added: counts?.added ?? 0,
    changed: counts?.changed ?? 0,
    removed: removed.length,
    erased,
  };
}
