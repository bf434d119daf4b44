import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import { ask, token, told } from '../service.ts';

const key = () => ({ path: { draftId: `conformance ${Date.now()} / ü` } });
const keyOf = (length: number) => ({ path: { draftId: 'k'.repeat(length) } });
const message = { body: { message: 'hello' } };
const reply = { title: 'Thanks', body: 'Thank you.' };

/** Sections 2.7 and 4.4: drafts and saved replies. */
export const savedTexts: readonly Case[] = [
  ...cases('3 write', {
    async 'a draft is created, put again, overwritten, and deleted any number of times'() {
      const { path } = key();
      for (const message of ['dear', 'dear', 'dear all']) {
        expect(await told('putDraft', { path, body: { message } })).toEqual({ draftId: path.draftId, message });
      }
      for (const _ of [1, 2]) expect(await ask('deleteDraft', { path })).toMatchObject({ outcome: '204', text: '' });
    },
  }),
  ...rows('4.4 write', 'putDraft', {
    'an empty draft is a draft': [() => ({ ...key(), body: { message: '' } }), [200, { message: '' }]],
  }),
  ...rows('8 write', 'putDraft', {
    'a draft key of 128 characters is taken': [{ ...keyOf(128), ...message }, [200, keyOf(128).path]],
  }),
  ...refusals('8 write', 'putDraft', {
    'a draft key of 129 characters is refused': { ...keyOf(129), ...message },
    'a draft without a key is refused': { ...keyOf(0), ...message },
  }),
  ...refusals('8 write', 'deleteDraft', { 'deleting under a key of 129 characters is refused': keyOf(129) }),
  ...refusals('4.4 write', 'putDraft', {
    'a draft without message is refused': () => ({ ...key(), body: {} }),
    'a draft whose message is no text is refused': () => ({ ...key(), body: { message: null } }),
    'an unknown field of a draft is refused': () => ({ ...key(), body: { message: '', to: [] } }),
  }),

  ...cases('4.4 control', {
    async 'a reply is saved with an id of its own, and deleted once'() {
      const asker = await token();
      const first = await told('createTemplate', { body: reply }, asker);
      expect(first).toEqual({ id: expect.any(Number), ...reply });
      expect((await told('createTemplate', { body: reply }, asker)).id).not.toBe(first.id);
      const path = { id: first.id };
      await told('deleteTemplate', { path }, asker);
      expect((await ask('deleteTemplate', { path }, asker)).outcome).toBe('404 not_found');
    },
  }),
  ...refusals('4.4 write', 'createTemplate', { 'an API key cannot save a reply': { body: reply } }),
  ...refusals('4.4 control', 'createTemplate as user', {
    'a saved reply without title is refused': { body: { body: 'Thank you.' } },
    'a saved reply without body is refused': { body: { title: 'Thanks' } },
    'an unknown field of a saved reply is refused': { body: { ...reply, tag: 'c' } },
  }),
  ...refusals('7 control', 'deleteTemplate as user', {
    'an id of a saved reply that is no integer is refused': { path: { id: 'last' } },
  }),
];
