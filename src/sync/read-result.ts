import type { Service } from '../api-client/client.ts';
import type { Database } from '../db/database.ts';
import type { Claim } from '../inbox/claims.ts';
import type { DirtyTarget } from '../inbox/targets.ts';
import type { CallGone, CallRead } from '../warehouse/calls.ts';
import type { ThreadGone } from '../warehouse/conversations.ts';
import type { DirectoryKind } from '../warehouse/directory.ts';
import type { ListRead } from '../warehouse/directory-list.ts';
import type { HeldCall } from '../warehouse/held-calls.ts';
import type { ThreadRead } from '../warehouse/messages.ts';
import type { RecordingsRead } from '../warehouse/recordings.ts';
import type { TranscriptsRead } from '../warehouse/transcripts.ts';
import type { Provenance } from '../warehouse/upsert.ts';

/** What one read fetched, in the form that the warehouse writes. */
export type EntityRead =
  /** `groups`: group messages that the service listed in the thread of two parties. */
  | { readonly kind: 'thread'; readonly read: ThreadRead; readonly groups?: readonly ThreadRead[] }
  | { readonly kind: 'call'; readonly read: CallRead }
  | { readonly kind: 'recordings'; readonly read: RecordingsRead }
  | { readonly kind: 'transcripts'; readonly read: TranscriptsRead }
  | { readonly kind: 'list'; readonly list: DirectoryKind; readonly read: ListRead<unknown> }
  /** None of the spaced reads found it. */
  | { readonly kind: 'call_gone'; readonly read: CallGone }
  | { readonly kind: 'thread_gone'; readonly read: ThreadGone };

export interface ReadResult {
  /** The change to the mirror; undefined if there is none. */
  readonly entity?: EntityRead;
  /** Other targets to read because of this result. */
  readonly followUps?: readonly DirtyTarget[];
  /** Seconds until the same target is due again; undefined if only a new reference makes it due. */
  readonly recheckSeconds?: number | undefined;
  /** The part of the result that depends on the call row, which the writer locks before it writes. */
  readonly whenHeld?: (held: HeldCall | undefined) => Omit<ReadResult, 'whenHeld'>;
}

export interface ReadContext {
  readonly service: Service;
  readonly db: Database;
  readonly now: () => Date;
}

/** Reads one target through the API and writes nothing. Rejects with a ServiceError. */
export type TargetReader = (claim: Claim, context: ReadContext, signal: AbortSignal) => Promise<ReadResult>;

export function provenance(claim: Pick<Claim, 'fetchSeq' | 'claimedAt'>, source: string): Provenance {
  return { fetchSeq: claim.fetchSeq, fetchedAt: claim.claimedAt.toISOString(), source };
}
