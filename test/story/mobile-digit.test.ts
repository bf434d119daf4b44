import { expect, test } from 'vitest';
import { createStoryWorld, line } from './world.ts';

/* A person whose number is written with and without the digit of their country for mobiles is one person. */

const world = await createStoryWorld();
const { sandbox } = world;
const [usual, older] = ['525512345678', '5215512345678'];

test('a limit by contact counts both forms', async () => {
  await world.rules(`countries: ['+52']
rules:
- name: daily
  on: message_received
  do: [{ reply: Good evening. }]
  limits: { per_contact: 1 per 24h }`);
  await world.text(older, 'Hello');
  await world.text(usual, 'Hello');
  expect(await world.decisions()).toEqual(['daily matched', 'daily limit:contact']);
});

test('a call that came under one form is over when we wrote to the other', async () => {
  await world.rules(`countries: ['+52']
rules:
- name: missed
  on: call_missed
  after: 2m
  if: contact.is_new == false
  do: [{ reply: Sorry. }]`);
  await world.text(older, 'Hello');
  await world.pass('1h');
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number: usual, durationSeconds: 20 });
  await world.quiet();
  await sandbox.emit.sms({ line, number: older, text: 'You called?', direction: 'out', sentBy: 4156 });
  await world.pass('3m');
  expect(await world.effects()).toEqual(['missed reply skipped DENIED gate:talked']);
});
