import { expect } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';
import type { Request } from '../operation.ts';
import type { OperationId } from '../operations.ts';

const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
const bare = { only: 'bare' } as const;
const given = { name: 'conformance', description: 'a test', url: 'https://example.com/hook', type: 'AccountSMS' };
const addressOf = (length: number) => `https://example.com/${'x'.repeat(length - 20)}`;
/** No account has come this far. */
const changed = (body: unknown) => ({ path: { id: 2_147_483_647 }, body });

/** A subscription of the case's own, deleted after it. */
async function withSubscription(
  context: CaseContext,
  look: (path: { id: number }, shown: Shown) => Promise<void>,
): Promise<void> {
  const { status, data } = await context.ask('createWebhook', { body: given });
  expect(status).toBe(201);
  const path = { id: data.id };
  try {
    await look(path, data);
  } finally {
    await context.bare('deleteWebhook', { path });
  }
}

interface Shown {
  id: number;
  type: string;
  enabled: boolean;
  createdAt: string;
}

const byId: readonly [OperationId, Request['body']?][] = [
  ['getWebhook'],
  ['updateWebhook', { name: 'x' }],
  ['patchWebhook', { name: 'x' }],
  ['enableWebhook'],
  ['disableWebhook'],
  ['deleteWebhook'],
];

/** Sections 2.12, 3 and 4.7: webhook subscriptions. */
export const webhooks: readonly Case[] = [
  {
    name: 'subscriptions have all that is promised',
    section: '4.7',
    operations: ['createWebhook', 'listWebhooks', 'getWebhook', 'deleteWebhook'],
    needs: 'write',
    async run(context) {
      await withSubscription(context, async (path, made) => {
        expect(made).toEqual({
          id: expect.any(Number),
          ...given,
          enabled: true,
          createdAt: rfc3339,
          updatedAt: rfc3339,
        });
        const listed = (await context.ask('listWebhooks')).data.filter(({ id }: Shown) => id === path.id);
        expect(listed).toEqual([made]);
        expect((await context.ask('getWebhook', { path })).data).toEqual(made);
        const deleted = await context.ask('deleteWebhook', { path });
        expect(deleted.status).toBe(204);
        expect(outcome(await context.ask('deleteWebhook', { path }))).toEqual({ status: 404, type: 'not_found' });
        await context
          .bare('createWebhook', { body: given })
          .then(({ data }) => context.bare('deleteWebhook', { path: data }));
      });
    },
  },
  ...(['updateWebhook', 'patchWebhook'] as const).map(
    (operation): Case => ({
      name: `${operation} changes what it names, keeps the rest, and answers what is stored`,
      section: '4.7',
      operations: [operation, 'getWebhook'],
      needs: 'write',
      ...(operation === 'patchWebhook' && bare),
      async run(context) {
        await withSubscription(context, async (path, made) => {
          const kept = { ...made, updatedAt: rfc3339 };
          const renamed = await context.ask(operation, { path, body: { name: 'renamed' } });
          expect([renamed.status, renamed.data]).toEqual([200, { ...kept, name: 'renamed' }]);
          const moved = await context.ask(operation, { path, body: { url: 'http://example.com/', enabled: false } });
          expect(moved.data).toEqual({ ...kept, name: 'renamed', url: 'http://example.com/', enabled: false });
          expect((await context.ask(operation, { path, body: {} })).data).toMatchObject({
            name: 'renamed',
            enabled: false,
          });
          expect((await context.ask('getWebhook', { path })).data).toMatchObject({ name: 'renamed', enabled: false });
        });
      },
    }),
  ),
  {
    name: 'disabling keeps the subscription, enabling brings it back, and each can be done twice',
    section: '3',
    operations: ['disableWebhook', 'enableWebhook', 'listWebhooks'],
    needs: 'write',
    async run(context) {
      await withSubscription(context, async (path, made) => {
        for (const [operation, enabled] of [
          ['disableWebhook', false],
          ['disableWebhook', false],
          ['enableWebhook', true],
          ['enableWebhook', true],
        ] as const) {
          const { status, data } = await context.ask(operation, { path });
          expect([status, data]).toEqual([200, { ...made, enabled, updatedAt: rfc3339 }]);
          const { data: all } = await context.ask('listWebhooks', { query: { enabled: true } });
          expect(all.some(({ id }: Shown) => id === path.id)).toBe(enabled);
          expect(all.every((each: Shown) => each.enabled)).toBe(true);
        }
      });
    },
  },
  {
    name: 'the list can be narrowed to a type',
    section: '4.7',
    operations: ['listWebhooks'],
    needs: 'write',
    async run(context) {
      await withSubscription(context, async (path) => {
        for (const type of ['AccountSMS', 'AccountEndedCalls']) {
          const { data } = await context.ask('listWebhooks', { query: { type } });
          expect(data.every((each: Shown) => each.type === type)).toBe(true);
          expect(data.some(({ id }: Shown) => id === path.id)).toBe(type === 'AccountSMS');
        }
      });
    },
  },
  ...refusals({ operation: 'listWebhooks', needs: 'read', section: '4.7' }, [
    ['a list of an unknown type is refused', { query: { type: 'AccountFax' } }],
  ]),
  row({
    name: 'asking for what is disabled is unsupported',
    section: '4.7',
    operation: 'listWebhooks',
    needs: 'read',
    request: { query: { enabled: false } },
    expect: { status: 400, type: 'unsupported' },
  }),
  row({
    name: 'the five event types are listed',
    section: '4.7',
    operation: 'listWebhookTypes',
    needs: 'read',
    request: {},
    expect: {
      status: 200,
      data: expect.arrayContaining([
        'AccountRealTimeCalls',
        'AccountEndedCalls',
        'UserEndedCalls',
        'AccountSMS',
        'AccountAITranscription',
      ]),
    },
  }),
  ...byId.map(([operation, body]) =>
    row({
      name: `${operation} of a subscription that there is not is not_found`,
      section: '4.7',
      operation,
      needs: operation === 'getWebhook' ? 'read' : 'write',
      ...(operation === 'patchWebhook' && bare),
      request: changed(body),
      expect: { status: 404, type: 'not_found' },
    }),
  ),
  ...(['updateWebhook', 'patchWebhook'] as const).flatMap((operation) => {
    const only = operation === 'patchWebhook' ? bare : {};
    return [
      ...refusals({ operation, needs: 'write', section: '4.7' }, [
        [`${operation} refuses an unknown type`, changed({ type: 'AccountFax' }), only],
        [`${operation} refuses a text for enabled`, changed({ enabled: 'yes' }), only],
        [`${operation} refuses an unknown field`, changed({ colour: 'red' }), only],
      ]),
      ...refusals({ operation, needs: 'write', section: '2.12' }, [
        [
          `${operation} refuses an address that is neither http nor https`,
          changed({ url: 'ftp://example.com/' }),
          only,
        ],
        [`${operation} refuses an address that is none`, changed({ url: 'example' }), only],
      ]),
      ...refusals({ operation, needs: 'write', section: '8' }, [
        [`${operation} refuses an address of 1,025 characters`, changed({ url: addressOf(1_025) }), only],
      ]),
    ];
  }),
  ...refusals({ operation: 'createWebhook', needs: 'write', section: '8' }, [
    ['an address of 1,025 characters is refused for a new one', { body: { ...given, url: addressOf(1_025) } }],
  ]),
  {
    name: 'an address of 1,024 characters is taken',
    section: '8',
    operations: ['updateWebhook'],
    needs: 'write',
    async run(context) {
      await withSubscription(context, async (path) => {
        const url = addressOf(1_024);
        expect((await context.ask('updateWebhook', { path, body: { url } })).data.url).toBe(url);
      });
    },
  },
];
