import { expect } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';

const bare = { only: 'bare' } as const;
const key = () => ({ path: { draftId: `conformance ${Date.now()} / ü` } });
const asUser = { as: (context: CaseContext) => context.token() };

/** Sections 2.7 and 4.4: drafts and saved replies. */
export const savedTexts: readonly Case[] = [
  {
    name: 'a draft is created, put again, overwritten, and deleted any number of times',
    section: '3',
    operations: ['putDraft', 'deleteDraft'],
    needs: 'write',
    async run(context) {
      const { path } = key();
      for (const message of ['dear', 'dear', 'dear all']) {
        const { status, data } = await context.ask('putDraft', { path, body: { message } });
        expect([status, data]).toEqual([200, { draftId: path.draftId, message }]);
      }
      for (let times = 0; times < 2; times++) {
        const { status, text = '' } = await context.ask('deleteDraft', { path });
        expect([status, text]).toEqual([204, '']);
      }
    },
  },
  row({
    name: 'an empty draft is a draft',
    section: '4.4',
    operation: 'putDraft',
    needs: 'write',
    request: () => ({ ...key(), body: { message: '' } }),
    expect: { status: 200, data: { message: '' } },
  }),
  row({
    name: 'a draft key of 128 characters is taken',
    section: '8',
    operation: 'putDraft',
    needs: 'write',
    request: { path: { draftId: 'k'.repeat(128) }, body: { message: 'hello' } },
    expect: { status: 200, data: { draftId: 'k'.repeat(128) } },
  }),
  ...refusals({ operation: 'putDraft', needs: 'write', section: '8' }, [
    ['a draft key of 129 characters is refused', { path: { draftId: 'k'.repeat(129) }, body: { message: 'hello' } }],
  ]),
  ...refusals({ operation: 'putDraft', needs: 'write', section: '8' }, [
    ['a draft without a key is refused', { path: { draftId: '' }, body: { message: 'hello' } }, bare],
  ]),
  ...refusals({ operation: 'deleteDraft', needs: 'write', section: '8' }, [
    ['deleting under a key of 129 characters is refused', { path: { draftId: 'k'.repeat(129) } }],
  ]),
  ...refusals({ operation: 'putDraft', needs: 'write', section: '4.4' }, [
    ['a draft without message is refused', () => ({ ...key(), body: {} }), bare],
    ['a draft whose message is no text is refused', () => ({ ...key(), body: { message: null } }), bare],
    ['an unknown field of a draft is refused', () => ({ ...key(), body: { message: '', to: [] } }), bare],
  ]),

  {
    name: 'a reply is saved with an id of its own, and deleted once',
    section: '4.4',
    operations: ['createTemplate', 'deleteTemplate'],
    needs: 'control',
    async run(context) {
      const token = await context.token();
      const body = { title: 'Thanks', body: 'Thank you.' };
      const first = await context.ask('createTemplate', { body }, token);
      expect([first.status, first.data]).toEqual([201, { id: expect.any(Number), ...body }]);
      const second = await context.ask('createTemplate', { body }, token);
      expect(second.data.id).not.toBe(first.data.id);
      const path = { id: first.data.id };
      expect((await context.ask('deleteTemplate', { path }, token)).status).toBe(204);
      expect(outcome(await context.ask('deleteTemplate', { path }, token))).toEqual({ status: 404, type: 'not_found' });
    },
  },
  ...refusals({ operation: 'createTemplate', needs: 'write', section: '4.4' }, [
    ['an API key cannot save a reply', { body: { title: 'Thanks', body: 'Thank you.' } }],
  ]),
  ...refusals({ operation: 'createTemplate', needs: 'control', section: '4.4' }, [
    ['a saved reply without title is refused', { body: { body: 'Thank you.' } }, { ...asUser, ...bare }],
    ['a saved reply without body is refused', { body: { title: 'Thanks' } }, { ...asUser, ...bare }],
    [
      'an unknown field of a saved reply is refused',
      { body: { title: 'a', body: 'b', tag: 'c' } },
      { ...asUser, ...bare },
    ],
  ]),
  ...refusals({ operation: 'deleteTemplate', needs: 'control', section: '7' }, [
    ['an id of a saved reply that is no integer is refused', { path: { id: 'last' } }, asUser],
  ]),
];
