import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { runInProcess } from '../cli/in-process.ts';
import { createWorld } from '../world.ts';

const world = await createWorld({ backend: 'postgres', sandbox: { deliveryRetriesMs: [50] } });
afterAll(() => world.close());
const { sandbox } = world;

const DATABASE_URL = world.context.settings.databaseUrl;
const command = (...args: string[]) =>
  runInProcess({ DATABASE_URL, API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey }, 'erase', ...args);

async function talk(person: string, friend: string): Promise<{ line: string }> {
  const { line } = await sandbox.emit.sms({ number: person, text: 'It is me' });
  await sandbox.emit.sms({ line, participants: [person, friend], text: 'All of us' });
  await sandbox.emit.sms({ line, number: friend, text: 'Thank you' });
  await world.settled();
  return { line };
}

const textsOf = async (line: string, party: string, group?: string) => {
  const read = await (world.context.service as Service).conversations.read(
    { line, number: party, ...(group && { groupParticipants: [group] }) },
    { limit: 50 },
  );
  return read.data.messages.map(({ text }) => text);
};

const restrict = (restrictDeletingSms: boolean) =>
  fetch(`${sandbox.url}/_sandbox/account`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ restrictDeletingSms }),
  });

test('deletes thread and group texts there, and says what no erasure reaches', async () => {
  const [person, friend] = ['15557770501', '15557770502'];
  const { line } = await talk(person, friend);
  const looked = await command(person, '--at-service', '--dry-run');
  expect(looked.code).toBe(0);
  expect(looked.out).toContain(`the thread ${line}/…0501`);
  expect(looked.out).toMatch(/the text \d+ in the thread/);
  expect(looked.out).not.toContain(person);
  expect(await textsOf(line, person)).toEqual(['It is me']);

  const { code, out, err } = await command(person, '--at-service', '--yes');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(await textsOf(line, person)).toEqual([]);
  expect(await textsOf(line, person, friend)).toEqual([]);
  expect(await textsOf(line, friend)).toEqual(['Thank you']);
  for (const word of ['back-ups', 'write-ahead log', 'portal']) expect(out).toContain(word);
  expect(await command(person, '--at-service', '--yes')).toMatchObject({ code: 0 });
});

test('names what the service refuses, erases here all the same, and ends with 1', async () => {
  const [person, friend] = ['15557770503', '15557770504'];
  const { line } = await talk(person, friend);
  await restrict(true);
  onTestFinished(async () => void (await restrict(false)));
  const { code, out } = await command(person, '--at-service', '--yes', '--json');
  expect(code).toBe(1);
  const told = JSON.parse(out);
  expect(told.atService.refused).toEqual(
    expect.arrayContaining([
      { line, number: '…0503', reason: expect.stringContaining('does not allow') },
      { line, number: '…0503', messageId: expect.any(String), reason: expect.any(String) },
    ]),
  );
  expect(await world.value('select count(*)::integer from warehouse.sms_messages where number = $1', person)).toBe(0);
  expect(await textsOf(line, person)).toEqual(['It is me']);
});

test('erases nothing here while the service cannot be asked, so that a repetition finds what to delete', async () => {
  const [person, friend] = ['15557770505', '15557770506'];
  await talk(person, friend);
  const environment = { DATABASE_URL, API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' };
  const { code, err } = await runInProcess(environment, 'erase', person, '--at-service', '--yes');
  expect(code).toBe(1);
  expect(err).toContain('Nothing was erased here yet');
  expect(
    await world.value('select count(*)::integer from warehouse.sms_messages where number = $1', person),
  ).toBeGreaterThan(0);
});

test('without it, the service is asked nothing, and the output says so', async () => {
  const [person, friend] = ['15557770507', '15557770508'];
  const { line } = await talk(person, friend);
  const { code, out } = await command(person, '--yes', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out).remaining.join(' ')).toContain('nothing was deleted there');
  expect(await textsOf(line, person)).toEqual(['It is me']);
});
