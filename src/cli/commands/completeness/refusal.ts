import type { TargetKind } from '../../../inbox/target.ts';
import { maskNumbers } from '../../../masking.ts';
import { type Database, query } from '../../../warehouse/database.ts';

interface ParkedStream {
  readonly reason: string;
  readonly missing_scope: string | null;
}

/**
 * Why what these kinds are read for has to wait, and what helps, as the end of a sentence; of the first kind that the
 * service refuses the credential. Undefined while it refuses none.
 */
export async function refusalOf(db: Database, kinds: readonly TargetKind[]): Promise<string | undefined> {
  const [stream] = await query<ParkedStream>(
    db,
    `select reason, missing_scope from ops.streams where kind = any($1) and parked_until > now()
     order by array_position($1::text[], kind) limit 1`,
    [kinds],
  );
  return stream && `the service refuses (${maskNumbers(stream.reason)}). ${cureOf(stream)}`;
}

function cureOf({ reason, missing_scope: scope }: ParkedStream): string {
  if (scope !== null) return `Grant ${scope} to the credential`;
  return reason.includes('trunkline auth login') ? 'Run `trunkline auth login`' : 'See to API_KEY';
}
