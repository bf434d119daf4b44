import { expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { createReceiver, type Receiver } from '../../sandbox/client/receiver.ts';
import { type Case, cases } from '../case.ts';
import { ask, freshPair, sandbox, told } from '../service.ts';

/** A look at what comes to a receiver that is subscribed to types, each on a path of its own, until the case ends. */
const listening = (types: readonly string[], look: (receiver: Receiver, id: number) => Promise<void>) => async () => {
  const receiver = await createReceiver();
  const ids: number[] = [];
  for (const type of types) {
    ids.push((await told('createWebhook', { body: { name: type, url: `${receiver.url}/${type}`, type } })).id);
  }
  try {
    await look(receiver, ids[0] ?? 0);
  } finally {
    for (const id of ids) await ask('deleteWebhook', { path: { id } });
  }
};

/** What earlier cases set off may arrive late, so deliveries are told apart by what they mention. */
const mentioning =
  (id: string | number) =>
  ({ text }: { text: string }) =>
    text.includes(String(id));
const pathsOf = (receiver: Receiver, id: string | number) =>
  [...new Set(receiver.received.filter(mentioning(id)).map(({ path }) => path))].sort();

/** Section 6: what is told to whom. Of the shapes nothing is looked at but the ids, wherever they stand. */
export const events: readonly Case[] = cases('6 control', {
  'a text is told to its subscribers alone, and its ids address the message': listening(
    ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription'],
    async (receiver) => {
      const path = await freshPair();
      const { id } = await sandbox.emit.sms(path);
      const [delivery] = await receiver.until(1, mentioning(id));
      for (const part of [path.line, path.number, String(id)]) expect(delivery?.text).toContain(part);
      expect((await told('readThread', { path })).messages).toMatchObject([{ id }]);
      expect(pathsOf(receiver, id)).toEqual(['/AccountSMS']);
    },
  ),
  'the receipt of a text is told like the text itself': listening(['AccountSMS'], async (receiver) => {
    const { id } = await sandbox.emit.sms({ ...(await freshPair()), direction: 'out', delivery: 'delivered' });
    expect(await receiver.until(2, mentioning(id))).toHaveLength(2);
  }),
  'an ended call is told for account and user, with the id of the history': listening(
    ['AccountEndedCalls', 'UserEndedCalls', 'AccountSMS'],
    async (receiver) => {
      const { id } = await sandbox.emit.call({ direction: 'inbound', status: 'answered' });
      await receiver.until(2, mentioning(id));
      expect(pathsOf(receiver, id)).toEqual(['/AccountEndedCalls', '/UserEndedCalls']);
      expect((await told('getCall', { path: { callid: id } })).id).toBe(id);
    },
  ),
  'a finished transcript is told with the id of its call': listening(['AccountAITranscription'], async (receiver) => {
    const { callId } = await sandbox.emit.transcript({});
    expect(await receiver.until(1, mentioning(callId))).toHaveLength(1);
    expect(await told('listTranscripts', { path: { callid: callId } })).not.toEqual([]);
  }),
  'nothing is told of a conversation that was resolved, assigned, noted or reopened': listening(
    ['AccountSMS', 'AccountAITranscription', 'AccountEndedCalls'],
    async (receiver) => {
      const path = await freshPair();
      await told('resolveConversation', { path });
      await told('assignConversation', { path, body: { userId: null } });
      await told('commentOnConversation', { path, body: { comment: 'a note' } });
      await told('reopenConversation', { path });
      const { id } = await sandbox.emit.sms(path);
      const [first] = await receiver.until(1, mentioning(path.number));
      expect(first?.text).toContain(String(id));
      expect(receiver.received.filter(mentioning(path.number))).toHaveLength(1);
    },
  ),
  'a disabled subscription gets nothing until it is enabled again': listening(['AccountSMS'], async (receiver, id) => {
    await told('disableWebhook', { path: { id } });
    await sandbox.emit.sms({ ...(await freshPair()), text: 'unheard' });
    await told('enableWebhook', { path: { id } });
    await sandbox.emit.sms({ ...(await freshPair()), text: 'heard' });
    const [first] = await receiver.until(1, mentioning('heard'));
    expect(first?.text).not.toContain('unheard');
    expect(receiver.received.filter(mentioning('heard'))).toHaveLength(1);
  }),
  async 'calls in progress are told where there is traffic'() {
    const receiver = await createReceiver();
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
});
