import { type Answer, ServiceError } from '../../api-client/client.ts';
import type { Claim } from '../../inbox/claims.ts';
import { holdsAny } from '../../warehouse/periods.ts';
import { provenance, type ReadContext, type TargetReader } from '../read-result.ts';
import { isLastMiss } from '../retry-policy.ts';

/** Reads all users (section 4.5). The next read is due after the directory's interval. */
export const readUsers: TargetReader = async (claim, context, signal) => {
  const answer = await context.service.users.list({ signal, requestId: claim.deliveryId });
  context.onAnswer('users.list', answer);
  await refuseEmpty(claim, context, answer, 'warehouse.users');
  const { data: users, isComplete } = answer;
  return {
    entity: { kind: 'users', read: { users, isComplete, read: provenance(claim, 'users.list') } },
    recheckSeconds: context.directoryEverySeconds,
  };
};

/** Reads all SMS lines (section 4.1). The next read is due after the directory's interval. */
export const readLines: TargetReader = async (claim, context, signal) => {
  const answer = await context.service.lines.list({ signal, requestId: claim.deliveryId });
  context.onAnswer('lines.list', answer);
  await refuseEmpty(claim, context, answer, 'warehouse.sms_lines');
  const { data: lines, isComplete } = answer;
  return {
    entity: { kind: 'lines', read: { lines, isComplete, read: provenance(claim, 'lines.list') } },
    recheckSeconds: context.directoryEverySeconds,
  };
};

/** A failing backend can answer an empty list. Like a 404, it must repeat in all spaced reads before held rows are deleted. */
async function refuseEmpty(
  claim: Claim,
  { db }: Pick<ReadContext, 'db'>,
  { data, isComplete }: Pick<Answer<readonly unknown[]>, 'data' | 'isComplete'>,
  table: 'warehouse.users' | 'warehouse.sms_lines',
): Promise<void> {
  if (data.length > 0 || !isComplete || isLastMiss(claim) || !(await holdsAny(db, table))) return;
  const what = { operation: `${claim.kind}.list`, effect: 'none' } as const;
  throw new ServiceError('not_found', `the account lists none of the ${claim.kind} that are held`, what);
}
