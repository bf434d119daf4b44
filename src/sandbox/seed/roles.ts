import type { User } from '../account.ts';
import type { Role } from '../entities/access.ts';

/** Roles as a small company gives them out; whoever has no portal access has none, and cannot grant a token. */
export function rolesOf(users: readonly User[]): Role[] {
  return users
    .filter((user) => user.username !== '')
    .map(({ id, title }) => {
      const leads = title.endsWith('manager');
      const isFrontDesk = title === 'Front desk';
      return {
        userId: id,
        users: isFrontDesk ? null : leads ? 'all' : [],
        phoneNumbers: true,
        callReports: !isFrontDesk,
        allowRecordings: leads,
      };
    });
}
