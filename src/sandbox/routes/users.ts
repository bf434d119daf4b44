import { z } from 'zod';
import type { User } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { type Credential, credentialOf } from '../http/credentials.ts';
import { dataOf } from '../http/fields.ts';
import { tag } from '../http/openapi.ts';
import { userResource } from '../resources/users.ts';

/** GET /users (4.5): the one list with a guaranteed order. */
export function userRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.get(
    '/users',
    {
      config: { scope: 'users:read', permission: 'users' },
      schema: {
        operationId: 'listUsers',
        summary: 'Users, by last name, first name and id',
        tags: tag('4.5'),
        response: { 200: dataOf(z.array(userResource)) },
      },
    },
    (request) => ({ data: visibleTo(credentialOf(request), store.users.values()).sort(byName) }),
  );
}

/** A token sees only the users that its user can see. */
function visibleTo(credential: Credential, users: User[]): User[] {
  if (credential.kind === 'key' || credential.role.users === 'all') return users;
  const visible = new Set([...(credential.role.users ?? []), credential.user.id]);
  return users.filter((user) => visible.has(user.id));
}

function byName(one: User, other: User): number {
  return compare(one.lastName, other.lastName) || compare(one.firstName, other.firstName) || one.id - other.id;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
