import { expect } from 'vitest';
import type { Case } from '../case.ts';

interface User {
  id: number;
  firstName: string;
  lastName: string;
  company: string;
  timeZone: string;
}

/** Sections 2.8 and 4.5: the account's users. */
export const users: readonly Case[] = [
  {
    name: 'users are sorted by last name, first name and id',
    section: '4.5',
    operations: ['listUsers'],
    needs: 'read',
    async run(context) {
      const { status, data } = await context.ask('listUsers');
      expect(status).toBe(200);
      const all: User[] = data;
      const sorted = all.toSorted(
        (one, other) =>
          compare(one.lastName, other.lastName) || compare(one.firstName, other.firstName) || one.id - other.id,
      );
      expect(all.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id));
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    },
  },
  {
    name: 'a user has all that is promised, the company always and the time zone a real one',
    section: '2.8',
    operations: ['listUsers'],
    needs: 'read',
    async run(context) {
      const words = ['username', 'firstName', 'lastName', 'title', 'email', 'mobile', 'extension'];
      const text = Object.fromEntries(words.map((name) => [name, expect.any(String)]));
      const texts = expect.toSatisfy((list: unknown[]) => list.every((item) => typeof item === 'string'));
      for (const user of (await context.ask('listUsers')).data as User[]) {
        expect(user).toMatchObject({ ...text, extensions: texts, lines: texts, numbers: texts, voicemails: texts });
        expect(user.company).toMatch(/\S/);
        expect(() => new Intl.DateTimeFormat('en', { timeZone: user.timeZone })).not.toThrow();
      }
    },
  },
];

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
