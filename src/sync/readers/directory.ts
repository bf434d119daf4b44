import type { Claim } from '../../inbox/claims.ts';
import { type Answer, ServiceError } from '../../service/client.ts';
import { holdsAny } from '../../warehouse/entities/directory/periods.ts';
import { provenance, type ReadingRoom, type TargetReader } from '../finding.ts';
import { isLastMiss } from '../outcome.ts';

/** Reads all users (section 4.5), and owes the next read to the directory's schedule. */
export const readUsers: TargetReader = async (claim, room, signal) => {
  const answer = await room.service.users.list({ signal });
  room.onAnswer('users.list', answer);
  await doubtEmpty(claim, room, answer, 'warehouse.users');
  const { data: users, isComplete } = answer;
  return {
    finding: { kind: 'users', read: { users, isComplete, read: provenance(claim, 'users.list') } },
    lookAgainSeconds: room.directoryEverySeconds,
  };
};

/** Reads all SMS lines (section 4.1), and owes the next read to the directory's schedule. */
export const readLines: TargetReader = async (claim, room, signal) => {
  const answer = await room.service.lines.list({ signal });
  room.onAnswer('lines.list', answer);
  await doubtEmpty(claim, room, answer, 'warehouse.sms_lines');
  const { data: lines, isComplete } = answer;
  return {
    finding: { kind: 'lines', read: { lines, isComplete, read: provenance(claim, 'lines.list') } },
    lookAgainSeconds: room.directoryEverySeconds,
  };
};

/** One empty list is no proof that all were deleted: like a thread that is not found, it takes three. */
async function doubtEmpty(
  claim: Claim,
  { db }: Pick<ReadingRoom, 'db'>,
  { data, isComplete }: Pick<Answer<readonly unknown[]>, 'data' | 'isComplete'>,
  table: 'warehouse.users' | 'warehouse.sms_lines',
): Promise<void> {
  if (data.length > 0 || !isComplete || isLastMiss(claim) || !(await holdsAny(db, table))) return;
  const what = { operation: `${claim.kind}.list`, effect: 'none' } as const;
  throw new ServiceError('not_found', `the account lists none of the ${claim.kind} that are held`, what);
}
