import type { Bump } from '../inbox/bumps.ts';
import type { Claim } from '../inbox/claims.ts';
import type { Answer, Service } from '../service/client.ts';
import type { Provenance } from '../warehouse/columns.ts';
import type { Database } from '../warehouse/database.ts';
import type { CallGone, CallRead } from '../warehouse/entities/calls/calls.ts';
import type { HeldCall } from '../warehouse/entities/calls/held-call.ts';
import type { RecordingsRead } from '../warehouse/entities/calls/recordings.ts';
import type { TranscriptsRead } from '../warehouse/entities/calls/transcripts.ts';
import type { LinesRead } from '../warehouse/entities/directory/lines.ts';
import type { UsersRead } from '../warehouse/entities/directory/users.ts';
import type { ThreadGone, ThreadRead } from '../warehouse/entities/texts/conversations.ts';
import type { Doubts } from './looks/doubts.ts';

/** What reading a target found, ready to be mirrored. */
export type Finding =
  /** `strayed` are messages of groups, which the thread of two parties lists as well. */
  | { readonly kind: 'thread'; readonly read: ThreadRead; readonly strayed?: readonly ThreadRead[] }
  | { readonly kind: 'call'; readonly read: CallRead }
  | { readonly kind: 'recordings'; readonly read: RecordingsRead }
  | { readonly kind: 'transcripts'; readonly read: TranscriptsRead }
  | { readonly kind: 'users'; readonly read: UsersRead }
  | { readonly kind: 'lines'; readonly read: LinesRead }
  /** Three spaced reads did not find it. */
  | { readonly kind: 'call_gone'; readonly read: CallGone }
  | { readonly kind: 'thread_gone'; readonly read: ThreadGone };

/** The end of a read that went well. */
export interface Reading {
  readonly finding: Finding;
  /** Other targets that it makes worth reading. */
  readonly followUps?: readonly Bump[];
  /** When the same target is worth another look, in seconds. */
  readonly lookAgainSeconds?: number | undefined;
}

/** A reading that depends on what the mirror holds of its call, which is looked up just before it is written. */
export type CallReading = (held: HeldCall | undefined) => Reading;

/** The end of the reads of what is there and cannot be read: nothing is written, and the target settles as gone. */
export interface Unshown {
  readonly unshown: string;
}

/** Told of every answer, so that drift is counted. */
export type OnAnswer = (operation: string, answer: Pick<Answer<unknown>, 'drift'>) => void;

/** What readers read with. */
export interface ReadingRoom {
  readonly service: Service;
  readonly db: Database;
  /** Seconds after a call's end at which late artefacts are looked for. */
  readonly looks: readonly number[];
  /** Seconds between two reads of users and lines. */
  readonly directoryEverySeconds: number;
  readonly now: () => Date;
  readonly doubts: Doubts;
  readonly onAnswer: OnAnswer;
}

/** Reads one target through the API. Rejects with a ServiceError, and writes nothing. */
export type TargetReader = (
  claim: Claim,
  room: ReadingRoom,
  signal: AbortSignal,
) => Promise<Reading | CallReading | Unshown>;

export function provenance(claim: Claim, source: string): Provenance {
  return { fetchSeq: claim.fetchSeq, fetchedAt: claim.claimedAt.toISOString(), source };
}
