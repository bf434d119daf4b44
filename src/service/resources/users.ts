import type { Answer } from '../answers/envelope.ts';
import { requiredRows } from '../answers/fields.ts';
import { type User, user } from '../entities/user.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

/** Section 4.5: the account's users. */
export interface Users {
  /**
   * `GET /users`, scope users:read: sorted by lastName, firstName and id. An OAuth user needs the permission Users, and
   * gets only those they may see.
   */
  list(call?: CallOptions): Promise<Answer<readonly User[]>>;
}

export function createUsers(transport: Transport): Users {
  return {
    list: (call) =>
      transport.repeatable(
        {
          name: 'users.list',
          method: 'GET',
          path: path`/users`,
          read: (data, reading) => requiredRows(data, user, reading, 'users'),
        },
        call,
      ),
  };
}
