import type { FastifyInstance } from 'fastify';
import type { User } from '../account.ts';
import type { Context } from '../context.ts';

/** GET /users (4.5): the one list with a guaranteed order. */
export function userRoutes(app: FastifyInstance, { store }: Pick<Context, 'store'>): void {
  app.get('/users', { config: { scope: 'users:read' } }, () => ({ data: store.users.values().sort(byName) }));
}

function byName(one: User, other: User): number {
  return compare(one.lastName, other.lastName) || compare(one.firstName, other.firstName) || one.id - other.id;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
