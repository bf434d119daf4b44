import { expect, test } from 'vitest';
import { line, sandboxOfTest } from './client/caller.ts';

const at = (number: string) => `/sms/conversations/${line}/${number}`;

test('deleting a conversation spares its state, other conversations and groups', async () => {
  const { sandbox, ask } = await sandboxOfTest();
  const [number, other] = ['13125550201', '13125550202'];
  const shown = async (number: string, query = '') =>
    (await ask('GET', at(number) + query)).body.data.messages.map((message: { text: string }) => message.text);
  const ofGroup = () => shown(number, `?groupParticipants=${other}`);
  await sandbox.emit.sms({ line, number, text: 'of the pair' });
  await sandbox.emit.sms({ line, number: other, text: 'of others' });
  const { id } = await sandbox.emit.sms({ line, number, participants: [number, other], text: 'of the group' });
  const { body: resolved } = await ask('POST', `${at(number)}/resolve`);

  expect((await ask('DELETE', at(number))).status).toBe(204);
  expect((await ask('DELETE', at(number))).status).toBe(204);
  expect([await shown(number), await shown(other), await ofGroup()]).toEqual([[], ['of others'], ['of the group']]);
  expect((await ask('POST', `${at(number)}/resolve`)).body).toEqual(resolved);
  expect((await ask('DELETE', `${at(other)}/messages/${id}`)).status).toBe(204);
  expect(await ofGroup()).toEqual([]);
});
