import { type Answer, ServiceError } from '../../api-client/client.ts';
import type { Claim } from '../../inbox/claims.ts';
import { holdsAny } from '../../warehouse/periods.ts';
import { provenance, type ReadContext, type TargetReader } from '../read-result.ts';
import { isLastMiss } from '../retry-policy.ts';

/** Reads all users (section 4.5). The next read is due after the directory's interval. */
export const readUsers: TargetReader = async (claim, context, signal) => {
  const asked = context.service.users.list({ signal, requestId: claim.deliveryId });
  const { data: users, isComplete } = await listed(claim, context, asked, 'warehouse.users');
  return {
    entity: { kind: 'users', read: { users, isComplete, read: provenance(claim, 'users.list') } },
    recheckSeconds: context.directoryEverySeconds,
  };
};

/** Reads all SMS lines (section 4.1). The next read is due after the directory's interval. */
export const readLines: TargetReader = async (claim, context, signal) => {
  const asked = context.service.lines.list({ signal, requestId: claim.deliveryId });
  const { data: lines, isComplete } = await listed(claim, context, asked, 'warehouse.sms_lines');
  return {
    entity: { kind: 'lines', read: { lines, isComplete, read: provenance(claim, 'lines.list') } },
    recheckSeconds: context.directoryEverySeconds,
  };
};

/** A failing backend can answer an empty list. Like a 404, it must repeat in all spaced reads before held rows are deleted. */
async function listed<T>(
  claim: Claim,
  { db, onAnswer }: ReadContext,
  asked: Promise<Answer<readonly T[]>>,
  table: 'warehouse.users' | 'warehouse.sms_lines',
): Promise<Answer<readonly T[]>> {
  const operation = `${claim.kind}.list`;
  const answer = await asked;
  onAnswer(operation, answer);
  const mayDelete = answer.data.length === 0 && answer.isComplete && !isLastMiss(claim);
  if (!mayDelete || !(await holdsAny(db, table))) return answer;
  const message = `the account lists none of the ${claim.kind} that are held`;
  throw new ServiceError('not_found', message, { operation, effect: 'none' });
}
