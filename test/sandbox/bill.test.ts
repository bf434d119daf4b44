import { expect, test } from 'vitest';
import { priceSend, rateFor, selectRecipients } from '../../src/sandbox/sending/billing.ts';
import { line, sandboxOfTest } from './client/caller.ts';

/* What a text is charged stands in the conformance cases of section 2.4; here are the rates and the list of charges. */

const rates = [
  { prefix: '1', smsMicros: 10_000, mmsMicros: 30_000 },
  { prefix: '1876', smsMicros: 100_000, mmsMicros: 20_000 },
  { prefix: '44', smsMicros: 45_000, mmsMicros: 90_000 },
];
const [ann, bob, jamaica] = ['12125550142', '13125550143', '18765550100'];
const [london, paris] = ['442079460000', '33612345678'];

const bill = (to: string[], text = 'Hello', known = rates) =>
  priceSend({ recipients: selectRecipients(to, () => false), text, attachmentCount: 0, rates: known });

test.each([
  [ann, '1'],
  [jamaica, '1876'],
  [london, '44'],
  [paris, undefined],
  ['4', undefined],
])('the longest prefix decides: %s goes by %s', (number, prefix) => {
  expect(rateFor(rates, number)?.prefix).toBe(prefix);
  expect(rateFor(rates.toReversed(), number)?.prefix).toBe(prefix);
});

test('one reached destination without a rate stops the whole send, and is named', () => {
  expect(bill([ann, paris, london])).toEqual({ outcome: 'unrated', numbers: [paris] });
  expect(bill([ann], 'Hello', [])).toEqual({ outcome: 'unrated', numbers: [ann] });
});

test('three times ten cents is thirty cents', () => {
  expect(JSON.stringify(bill([jamaica], 'a'.repeat(400)))).toContain('"totalPrice":0.3,');
});

async function open() {
  const opened = await sandboxOfTest();
  const send = (to: string[], message = 'hello') => opened.ask('POST', '/sms/messages', { from: line, to, message });
  return { ...opened, send };
}

test('every POST stands in the list of sends with its answer, oldest first, and its charge if it had one', async () => {
  const { sandbox, ask, control, send } = await open();
  const { body } = await send([ann, bob]);
  await send(['nobody']);
  await send([paris]);
  await send([ann], '');
  await ask('POST', '/sms/messages', undefined, null);
  await ask('GET', '/sms/lines');
  const { data } = (await control('GET', '/sends')).body;
  expect(data).toEqual(sandbox.sends());
  const [key, at, messageIds] = ['default', expect.stringMatching(/Z$/), [body.data.messages[0].id]];
  const cost = { type: 'mms', units: 1, totalMicros: 30_000 };
  const charge = { id: 1, at, key, from: line, to: [ann, bob], ...cost, messageIds };
  const free = { at, key, totalPrice: 0, charge: null };
  expect(data).toEqual([
    { at, key, status: 201, totalPrice: 0.03, charge },
    { ...free, status: 200 },
    { ...free, status: 422 },
    { ...free, status: 400 },
    { ...free, status: 401, key: null },
  ]);
  expect((await control('GET', '/sends?limit=2')).body.data).toEqual(data.slice(-2));
  expect((await control('GET', '/sends?limit=0')).body.data).toEqual([]);
  expect((await control('GET', '/sends?limit=x')).status).toBe(400);
});

test('sends that come at once are each charged once, under ids of their own', async () => {
  const { sandbox, send } = await open();
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send([ann], `text ${index}`)));
  const ids = answers.map(({ body }) => body.data.messages[0].id);
  expect(new Set(ids).size).toBe(40);
  expect(
    sandbox
      .sends()
      .flatMap(({ charge }) => charge?.messageIds ?? [])
      .sort(),
  ).toEqual(ids.sort());
});
