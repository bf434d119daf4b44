import { expect, test } from 'vitest';
import { dataFolder, karen, line, sandboxOfTest } from './client/caller.ts';

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

test('an id is not given twice, not even after a restart, and what was deleted stays so', async () => {
  const dataDir = await dataFolder();
  const open = async () => {
    const { sandbox, ask, control } = await sandboxOfTest({ dataDir });
    const token = (await control('POST', '/tokens', { userId: karen })).body.data.access_token;
    const reply = { title: 'Hours', body: 'We open at nine.' };
    const save = async () => (await ask('POST', '/sms/templates', reply, token)).body.data.id;
    const text = async () => (await sandbox.emit.sms({ line, number: '13125550497' })).id;
    const drop = async (path: string) => expect((await ask('DELETE', path, undefined, token)).status).toBe(204);
    return { sandbox, ask, save, text, drop };
  };
  const thread = at('13125550497');
  const first = await open();
  const [id, saved] = [await first.text(), await first.save()];
  await first.drop(`/sms/templates/${saved}`);
  await first.drop(`${thread}/messages/${id}`);
  expect(await first.text()).toBe(id + 1);
  await first.drop(thread);
  await first.sandbox.close();

  const second = await open();
  expect(await second.save()).toBe(saved + 1);
  expect((await second.ask('GET', thread)).body.data.messages).toEqual([]);
  expect(await second.text()).toBe(id + 2);
});
