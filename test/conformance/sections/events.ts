import { expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { createReceiver, type Receiver } from '../../sandbox/client/receiver.ts';
import type { Case } from '../case.ts';
import type { CaseContext } from '../harness/suite.ts';

const operations = ['createWebhook', 'deleteWebhook'] as const;

/** Subscribes a receiver to types, each on a path of its own; the subscriptions end with the case. */
async function listening(
  context: CaseContext,
  types: readonly string[],
  look: (receiver: Receiver, ids: number[]) => Promise<void>,
) {
  await using receiver = await createReceiver();
  const ids: number[] = [];
  for (const type of types) {
    const { data } = await context.ask('createWebhook', { body: { name: type, url: `${receiver.url}/${type}`, type } });
    ids.push(data.id);
  }
  try {
    await look(receiver, ids);
  } finally {
    for (const id of ids) await context.bare('deleteWebhook', { path: { id } });
  }
}

/** What earlier cases set off may arrive late, so deliveries are told apart by what they mention. */
const mentioning =
  (id: string | number) =>
  ({ text }: { text: string }) =>
    text.includes(String(id));
const pathsOf = (receiver: Receiver, id: string | number) =>
  [...new Set(receiver.received.filter(mentioning(id)).map(({ path }) => path))].sort();

/** Section 6: what is told to whom. Of the shapes nothing is looked at but the ids, wherever they stand. */
export const events: readonly Case[] = [
  {
    name: 'a text is told to its subscribers alone, and its ids address the message',
    section: '6',
    operations: [...operations, 'readThread'],
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription'], async (receiver) => {
        const path = await context.freshPair();
        const { id } = await context.control.sms(path);
        const [delivery] = await receiver.until(1, mentioning(id));
        for (const part of [path.line, path.number, String(id)]) expect(delivery?.text).toContain(part);
        const { data } = await context.ask('readThread', { path });
        expect(data.messages).toMatchObject([{ id }]);
        expect(pathsOf(receiver, id)).toEqual(['/AccountSMS']);
      });
    },
  },
  {
    name: 'the receipt of a text is told like the text itself',
    section: '6',
    operations,
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountSMS'], async (receiver) => {
        const { id } = await context.control.sms({
          ...(await context.freshPair()),
          direction: 'out',
          delivery: 'delivered',
        });
        expect(await receiver.until(2, mentioning(id))).toHaveLength(2);
      });
    },
  },
  {
    name: 'an ended call is told for account and user, with the id of the history',
    section: '6',
    operations: [...operations, 'getCall'],
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountEndedCalls', 'UserEndedCalls', 'AccountSMS'], async (receiver) => {
        const { id } = await context.control.call({ direction: 'inbound', status: 'answered' });
        await receiver.until(2, mentioning(id));
        expect(pathsOf(receiver, id)).toEqual(['/AccountEndedCalls', '/UserEndedCalls']);
        expect((await context.ask('getCall', { path: { callid: id } })).data.id).toBe(id);
      });
    },
  },
  {
    name: 'a finished transcript is told with the id of its call',
    section: '6',
    operations: [...operations, 'listTranscripts'],
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountAITranscription'], async (receiver) => {
        const { callId } = await context.control.transcript({});
        expect(await receiver.until(1, mentioning(callId))).toHaveLength(1);
        expect((await context.ask('listTranscripts', { path: { callid: callId } })).data).not.toEqual([]);
      });
    },
  },
  {
    name: 'nothing is told of a conversation that was resolved, assigned, noted or reopened',
    section: '6',
    operations: [...operations, 'resolveConversation'],
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountSMS', 'AccountAITranscription', 'AccountEndedCalls'], async (receiver) => {
        const path = await context.freshPair();
        await context.ask('resolveConversation', { path });
        await context.ask('assignConversation', { path, body: { userId: null } });
        await context.ask('commentOnConversation', { path, body: { comment: 'a note' } });
        await context.ask('reopenConversation', { path });
        const { id } = await context.control.sms(path);
        const [first] = await receiver.until(1, mentioning(path.number));
        expect(first?.text).toContain(String(id));
        expect(receiver.received.filter(mentioning(path.number))).toHaveLength(1);
      });
    },
  },
  {
    name: 'a disabled subscription gets nothing until it is enabled again',
    section: '6',
    operations: [...operations, 'disableWebhook', 'enableWebhook'],
    needs: 'control',
    async run(context) {
      await listening(context, ['AccountSMS'], async (receiver, [id = 0]) => {
        await context.ask('disableWebhook', { path: { id } });
        await context.control.sms({ ...(await context.freshPair()), text: 'unheard' });
        await context.ask('enableWebhook', { path: { id } });
        await context.control.sms({ ...(await context.freshPair()), text: 'heard' });
        const [first] = await receiver.until(1, mentioning('heard'));
        expect(first?.text).not.toContain('unheard');
        expect(receiver.received.filter(mentioning('heard'))).toHaveLength(1);
      });
    },
  },
  {
    name: 'calls in progress are told where there is traffic',
    section: '6',
    operations,
    needs: 'control',
    only: 'bare',
    async run() {
      await using receiver = await createReceiver();
      const busy = await createSandbox({ calls: 5, threads: 1, traffic: { everyMs: 30 } });
      try {
        await fetch(`${busy.url}/api/public/v1/webhooks`, {
          method: 'POST',
          headers: { authorization: `Bearer ${busy.apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'live', url: receiver.url, type: 'AccountRealTimeCalls' }),
        });
        const [delivery] = await receiver.until(1);
        expect(delivery?.json.callId).toMatch(/^\d{9,11}\.\d+$/);
      } finally {
        await busy.close();
      }
    },
  },
];
