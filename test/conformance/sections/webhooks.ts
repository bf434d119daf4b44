import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import { nothing, type OperationId } from '../operations.ts';
import { ask, rfc3339, told } from '../service.ts';

const given = { name: 'conformance', description: 'a test', url: 'https://example.com/hook', type: 'AccountSMS' };
const addressOf = (length: number) => `https://example.com/${'x'.repeat(length - 20)}`;
const changed = (body?: unknown) => ({ path: { id: nothing }, body });
const types = ['AccountRealTimeCalls', 'AccountEndedCalls', 'UserEndedCalls', 'AccountSMS', 'AccountAITranscription'];

interface Shown {
  id: number;
  type: string;
  enabled: boolean;
}

/** A look at a subscription of the case's own, deleted after it. */
const withSubscription = (look: (path: { id: number }, shown: Shown) => Promise<void>) => async (): Promise<void> => {
  const shown = await told('createWebhook', { body: given });
  const path = { id: shown.id };
  try {
    await look(path, shown);
  } finally {
    await ask('deleteWebhook', { path });
  }
};

const byId: readonly [OperationId, body?: unknown][] = [
  ['getWebhook'],
  ['updateWebhook', { name: 'x' }],
  ['patchWebhook', { name: 'x' }],
  ['enableWebhook'],
  ['disableWebhook'],
  ['deleteWebhook'],
];

/** Sections 2.12, 3 and 4.7: webhook subscriptions. */
export const webhooks: readonly Case[] = [
  ...cases('4.7 write', {
    'subscriptions have all that is promised': withSubscription(async (path, made) => {
      const times = { createdAt: rfc3339, updatedAt: rfc3339 };
      expect(made).toEqual({ id: expect.any(Number), ...given, enabled: true, ...times });
      expect((await told('listWebhooks')).filter(({ id }: Shown) => id === path.id)).toEqual([made]);
      expect(await told('getWebhook', { path })).toEqual(made);
      await told('deleteWebhook', { path });
      expect((await ask('deleteWebhook', { path })).outcome).toBe('404 not_found');
    }),
  }),
  ...(['updateWebhook', 'patchWebhook'] as const).flatMap((operation) => [
    ...cases('4.7 write', {
      [`${operation} changes what it names, keeps the rest, and answers what is stored`]: withSubscription(
        async (path, made) => {
          const changed = { ...made, updatedAt: rfc3339, name: 'renamed' };
          expect(await told(operation, { path, body: { name: 'renamed' } })).toEqual(changed);
          const moved = { url: 'http://example.com/', enabled: false };
          expect(await told(operation, { path, body: moved })).toEqual({ ...changed, ...moved });
          expect(await told(operation, { path, body: {} })).toMatchObject({ name: 'renamed', enabled: false });
          expect(await told('getWebhook', { path })).toMatchObject({ name: 'renamed', enabled: false });
        },
      ),
    }),
    ...refusals('4.7 write', operation, {
      [`${operation} refuses an unknown type`]: changed({ type: 'AccountFax' }),
      [`${operation} refuses a text for enabled`]: changed({ enabled: 'yes' }),
      [`${operation} refuses an unknown field`]: changed({ colour: 'red' }),
    }),
    ...refusals('2.12 write', operation, {
      [`${operation} refuses an address that is neither http nor https`]: changed({ url: 'ftp://example.com/' }),
      [`${operation} refuses an address that is none`]: changed({ url: 'example' }),
    }),
    ...refusals('8 write', operation, {
      [`${operation} refuses an address of 1,025 characters`]: changed({ url: addressOf(1_025) }),
    }),
  ]),
  ...cases('3 write', {
    'disabling keeps the subscription, enabling brings it back, and each can be done twice': withSubscription(
      async (path, made) => {
        for (const enabled of [false, false, true, true]) {
          const state = await told(enabled ? 'enableWebhook' : 'disableWebhook', { path });
          expect(state).toEqual({ ...made, enabled, updatedAt: rfc3339 });
          const all: Shown[] = await told('listWebhooks', { query: { enabled: true } });
          expect(all.some(({ id }) => id === path.id)).toBe(enabled);
          expect(all.every((each) => each.enabled)).toBe(true);
        }
      },
    ),
  }),
  ...cases('4.7 write', {
    'the list can be narrowed to a type': withSubscription(async (path) => {
      for (const type of ['AccountSMS', 'AccountEndedCalls']) {
        const all: Shown[] = await told('listWebhooks', { query: { type } });
        expect(all.every((each) => each.type === type)).toBe(true);
        expect(all.some(({ id }) => id === path.id)).toBe(type === 'AccountSMS');
      }
    }),
  }),
  ...rows('4.7 read', 'listWebhooks', {
    'a list of an unknown type is refused': [{ query: { type: 'AccountFax' } }, '400 invalid_request'],
    'asking for what is disabled is unsupported': [{ query: { enabled: false } }, '400 unsupported'],
  }),
  ...cases('4.7 read', {
    async 'the five event types are listed'() {
      expect(await told('listWebhookTypes')).toEqual(expect.arrayContaining(types));
    },
  }),
  ...byId.flatMap(([operation, body]) =>
    rows(operation === 'getWebhook' ? '4.7 read' : '4.7 write', operation, {
      [`${operation} of a subscription that there is not is not_found`]: [changed(body), '404 not_found'],
    }),
  ),
  ...refusals('8 write', 'createWebhook', {
    'an address of 1,025 characters is refused for a new one': { body: { ...given, url: addressOf(1_025) } },
  }),
  ...cases('8 write', {
    'an address of 1,024 characters is taken': withSubscription(async (path) => {
      const url = addressOf(1_024);
      expect((await told('updateWebhook', { path, body: { url } })).url).toBe(url);
    }),
  }),
];
