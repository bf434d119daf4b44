import { expect } from 'vitest';
import { type Case, cases } from '../case.ts';
import { type Anything, told } from '../service.ts';

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** Sections 2.8 and 4.5: the account's users. */
export const users: readonly Case[] = [
  ...cases('4.5 read', {
    async 'users are sorted by last name, first name and id'() {
      const all: Anything[] = await told('listUsers');
      const sorted = all.toSorted(
        (one, other) =>
          compare(one.lastName, other.lastName) || compare(one.firstName, other.firstName) || one.id - other.id,
      );
      expect(all.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id));
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    },
  }),
  ...cases('2.8 read', {
    async 'a user has all that is promised, the company always and the time zone a real one'() {
      const words = ['username', 'firstName', 'lastName', 'title', 'email', 'mobile', 'extension'];
      const text = Object.fromEntries(words.map((name) => [name, expect.any(String)]));
      const texts = expect.toSatisfy((list: unknown[]) => list.every((item) => typeof item === 'string'));
      for (const user of await told('listUsers')) {
        expect(user).toMatchObject({ ...text, extensions: texts, lines: texts, numbers: texts, voicemails: texts });
        expect(user.company).toMatch(/\S/);
        expect(() => new Intl.DateTimeFormat('en', { timeZone: user.timeZone })).not.toThrow();
      }
    },
  }),
];
