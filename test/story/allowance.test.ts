import { beforeEach, expect, test } from 'vitest';
import { settleManually } from '../../src/ledger/outcome.ts';
import { createStoryWorld } from './world.ts';

/* A text that may have gone out uses up what a rule is allowed, until somebody knows that it has not. */

const world = await createStoryWorld();
const { sandbox, value, context } = world;
const number = '17185550301';
beforeEach(() =>
  world.rules(`rules:
- { name: capped, on: message_received, if: message.plain == "capped", do: [{ reply: Once a week. }], limits: { per_thread: 1 per 7d } }
- name: counting
  on: message_received
  if: message.plain == "counting" && replies.count >= 0
  do: [{ comment: '{{ replies.count }} so far.' }]`),
);

test('a send that a person has to settle counts, in limits and in facts', async () => {
  sandbox.faults({ kind: 'reset', when: 'before', operation: 'sendMessage', times: 1 });
  await world.text(number, 'capped');
  await world.pass('26h');
  expect(await value('select state from ops.sends')).toBe('NEEDS_HUMAN');
  await world.text(number, 'capped');
  await world.text(number, 'counting');
  expect(await world.decisions()).toEqual(['capped matched', 'capped limit:thread', 'counting matched']);
  expect(world.notes(number)).toEqual(['1 so far.']);
  await settleManually(context.database.db, String(await value('select send_id from ops.sends')), 'NOT_SENT');
  expect(await world.texts()).toEqual([]);
  await world.text(number, 'capped');
  expect(await world.texts()).toEqual([`${number}: Once a week.`]);
});

test('so does one whose second try may have gone out', async () => {
  sandbox.faults({ kind: 'answer', when: 'before', operation: 'sendMessage', times: 1 });
  await world.text(number, 'capped');
  expect(await value('select tries from ops.sends')).toBe(1);
  sandbox.faults({ kind: 'reset', when: 'before', operation: 'sendMessage', times: 1 });
  await world.pass('10s');
  expect(await value('select state from ops.sends')).toBe('UNKNOWN');
  await world.pass('26h');
  await world.text(number, 'capped');
  expect(await world.decisions()).toEqual(['capped matched', 'capped limit:thread']);
  expect(await world.texts()).toEqual([]);
});
