import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;

const line = '16465550100';
const number = '12125550142';
const thread = `/sms/conversations/${line}/${number}`;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 20, threads: 0 });
  ask = caller(sandbox);
});
beforeEach(async () => {
  await sandbox.reset();
  for (let at = 1; at <= 25; at++) await sandbox.emit.sms({ line, number, text: String(at) });
});
afterAll(() => sandbox.close());

async function texts(query: string): Promise<number[]> {
  const { body } = await ask('GET', `${thread}?${query}`);
  return body.data.messages.map(({ text }: { text: string }) => Number(text));
}

test('a call appears in the window after each page', async () => {
  sandbox.faults({ answers: [{ kind: 'shift', operations: ['searchCalls'] }] });
  const page = async (offset: number) => {
    const { body } = await ask('POST', '/calls/search', { ...everything(), limit: 5, offset });
    return body.data as { total: number; calls: { id: string }[] };
  };
  const first = await page(0);
  const second = await page(5);
  expect([first.total, second.total]).toEqual([20, 21]);
  expect(second.calls[0]?.id).toBe(first.calls[4]?.id);
});

test('a call that shifts pages lies in the window that was searched', async () => {
  sandbox.faults({ answers: [{ kind: 'shift', times: 1 }] });
  const end = Math.floor(Date.now() / 1000) - 3_600;
  const search = async () => (await ask('POST', '/calls/search', { start: end - 86_400, end })).body.data.total;
  const before = await search();
  expect(await search()).toBe(before + 1);
});

test('a message appears in the thread after each page', async () => {
  sandbox.faults({ answers: [{ kind: 'shift', operations: ['readThread'] }] });
  const [first, second] = [await texts('limit=5'), await texts('limit=5&offset=5')];
  expect(first).toEqual([25, 24, 23, 22, 21]);
  expect(second[0]).toBe(21);
});

test('threads can be paged from their beginning', async () => {
  sandbox.faults({ answers: [{ kind: 'oldestFirst' }] });
  expect(await texts('limit=4')).toEqual([1, 2, 3, 4]);
  expect(await texts('limit=4&offset=4')).toEqual([5, 6, 7, 8]);
  expect(await texts('limit=4&offset=23')).toEqual([24, 25]);
  expect(await texts('limit=4&offset=25')).toEqual([]);
});

test('threads can refuse limits that they allowed, and give fewer where none is named', async () => {
  sandbox.faults({ answers: [{ kind: 'limit', max: 10 }] });
  const refused = await ask('GET', `${thread}?limit=11`);
  expect([refused.status, refused.body.error.type]).toEqual([400, 'invalid_request']);
  expect(refused.body.error.message).toContain('limit');
  expect([(await texts('limit=10')).length, (await texts('')).length]).toEqual([10, 10]);
});
