import { expect } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

/** Lines of the seeded account: one for everybody, and one that is assigned to some. */
export const line = '16465550100';
export const assignedLine = '16465550102';

interface Person {
  id: number;
  token: string;
}

/** Who may ask: the account with its key, and two users with tokens, of whom only one may use the assigned line. */
export interface Cast {
  ask: Ask;
  control: Ask;
  assigned: Person;
  other: Person;
}

export async function castOf(sandbox: Sandbox): Promise<Cast> {
  const ask = caller(sandbox);
  const control = caller(sandbox, '/_sandbox');
  const users: { id: number; username: string }[] = (await ask('GET', '/users')).body.data;
  const lines: { number: string; userIds: number[] }[] = (await ask('GET', '/sms/lines')).body.data;
  const owners = lines.find(({ number }) => number === assignedLine)?.userIds ?? [];
  const people = users.filter(({ username }) => username !== '');

  async function person(isOwner: boolean): Promise<Person> {
    const id = people.find((user) => owners.includes(user.id) === isOwner)?.id ?? 0;
    const { status, body } = await control('POST', '/tokens', { userId: id });
    expect(status).toBe(201);
    return { id, token: body.data.access_token };
  }
  return { ask, control, assigned: await person(true), other: await person(false) };
}

/** Status and type of an error, which must be all that a client needs. */
export function refusal({ status, body }: { status: number; body: { error: { type: string } } }): [number, string] {
  expect(body).not.toHaveProperty('data');
  return [status, body.error.type];
}
