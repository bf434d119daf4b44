import { type Database, query } from '../../warehouse/database.ts';

/** Unread texts that the service counts on a line, and that are not held: the newest comparison of the line says so. */
export interface MissingTexts {
  readonly line: string;
  readonly missing: number;
  readonly since: Date;
  /** Still looked for; not to be found by anything there is; or from before the mirror was made. */
  readonly state: 'behind' | 'unexplained' | 'older';
}

/** Every line that counts more unread texts than are held. */
export function missingTexts(db: Database): Promise<MissingTexts[]> {
  return query<MissingTexts>(
    db,
    `select line, reported_count - held_count + uncounted_count as missing, observed_at as since, state from (
       select distinct on (line) * from warehouse.sms_unread_snapshots order by line, observed_at desc
     ) newest where state in ('behind', 'unexplained', 'older') order by line`,
    [],
  );
}

/** Whether unread counts were ever compared: before that, nothing can be missed. */
export async function wereTextsCompared(db: Database): Promise<boolean> {
  return (await query(db, 'select from warehouse.sms_unread_snapshots limit 1', [])).length > 0;
}
