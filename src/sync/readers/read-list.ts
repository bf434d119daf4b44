import { ServiceError } from '../../api-client/client.ts';
import { type DirectoryKind, directory } from '../../warehouse/directory.ts';
import { provenance, type TargetReader } from '../read-result.ts';
import { directoryEverySeconds } from '../rechecks.ts';
import { isLastMiss } from '../retry-policy.ts';

/**
 * Makes the reader of a list of the account. The next read is due after the directory's interval. A failing backend can
 * answer an empty list: like a 404, an empty list must repeat in all spaced reads before held rows are deleted.
 */
export function readerOfList(kind: DirectoryKind): TargetReader {
  const list = directory[kind];
  const { operation } = list;
  return async (claim, { service, db }, signal) => {
    const { data: rows } = await list.ask(service, { signal, requestId: claim.deliveryId });
    await service.confirmAccount(operation, signal);
    if (rows.length === 0 && !isLastMiss(claim) && (await list.holdsAny(db))) {
      const message = `the account lists none of the ${kind} that are held`;
      throw new ServiceError('not_found', message, { operation, effect: 'none' });
    }
    return {
      entity: { kind: 'list', list: kind, read: { rows, read: provenance(claim, operation) } },
      recheckSeconds: directoryEverySeconds[kind],
    };
  };
}
