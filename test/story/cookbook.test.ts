import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { startHttpReceiver } from '../notify/receivers.ts';
import { createStoryWorld, line } from './world.ts';

/* The recipes of config/cookbook/rules as they are, live: the texts that left, the people told, and what was changed. */

const people = await startHttpReceiver();
const world = await createStoryWorld({
  environment: { NOTIFY_TARGETS: `support=slack:${people.url} crm=${people.url}#whsec_${'A'.repeat(44)}` },
});
const { sandbox, query, value } = world;
afterAll(() => people[Symbol.asyncDispose]());
beforeEach(() => {
  people.received.length = 0;
});

const folder = 'config/cookbook/rules';
const [one, two, three] = ['12125556001', '12125556002', '12125556003'] as const;
const told = () => people.received.map(({ body }) => body);
const missed = (number: string): CallEvent => ({
  ...{ direction: 'inbound', status: 'missed', group: 'Service', number },
  legs: [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }],
});
const recorded = { direction: 'inbound', recorded: true, recordingAfterMs: 0, transcriptAfterMs: null } as const;
const listed = (number: string, values: string) =>
  query(`insert into warehouse.contacts (number, name, owner, language, tags) values ($1, ${values})`, number);

const recipes: Record<string, () => Promise<void>> = {
  async 'angry-callers'() {
    await world.text(one, 'You will hear from my lawyer');
    await world.text(two, 'Thank you');
    const { id: callId } = await sandbox.emit.call({ ...recorded, status: 'answered', number: three });
    await sandbox.emit.transcript({ callId, callSentiment: 'negative', shortSummary: 'Nobody came.' });
    await world.quiet();
    expect(told()).toEqual([
      expect.stringContaining('You will hear from my lawyer'),
      expect.stringContaining('went badly: Nobody came.'),
    ]);
  },
  // On Tuesday at 16:50, twenty minutes are left to Wednesday.
  async 'nobody-answered'() {
    const owned = String(await value(`select min(line) from warehouse.sms_line_users where valid_to = 'infinity'`));
    await world.pass('110m');
    await world.text(one, 'Hello?', { line: owned });
    await world.pass('16h');
    expect(world.changes(one)).toEqual([]);
    await world.pass('35m');
    expect(world.changes(one)).toEqual(['assign', 'comments']);
  },
  async 'approved-refund'() {
    await world.text(one, 'I want a refund');
    expect(await world.texts()).toEqual([]);
    const id = String(await value(`select send_id from ops.sends where state = 'AWAITING_APPROVAL'`));
    expect((await world.trunkline('sends', 'approve', id, '--yes', '--by', 'Lea')).code).toBe(0);
    expect(await world.texts()).toEqual([`${one}: Hello, we will refund your order today.`]);
  },
  // At 10:00 in New York it is 7:00 in Los Angeles.
  async 'two-offices'() {
    await world.text(one, 'Hello');
    await world.text(one, 'Hello', { line: '16465550101' });
    expect(await world.texts()).toEqual([`${one}: Thank you. We are closed, and open again on Tuesday at 9:00 AM.`]);
  },
  async 'reopen-on-reply'() {
    await world.text(one, 'One more thing');
    expect(world.changes(one)).toEqual(['reopen']);
  },
  async 'resolve-after-our-answer'() {
    await world.text(one, 'Fine, thanks');
    await world.text(two, 'At five?');
    for (const number of [one, two]) await world.text(number, 'See you.', { direction: 'out' });
    await world.pass('23h');
    expect([world.changes(one), world.changes(two)]).toEqual([[], []]);
    await world.pass('2h');
    expect([world.changes(one), world.changes(two)]).toEqual([['resolve'], []]);
  },
  async keywords() {
    await world.text(one, 'Text us HOURS, ADDRESS or PRICE.', { direction: 'out' });
    await world.pass('10s');
    for (const text of ['And on Sunday?', 'Hours', 'ADDRESS']) await world.text(one, text);
    const open = 'We are open from Monday to Friday, nine to five.';
    expect(await world.texts()).toEqual([`${one}: ${open}`, `${one}: You find us at 1 Example Street.`]);
  },
  async 'missed-call-text'() {
    for (const number of [one, two, one]) await sandbox.emit.call(missed(number));
    await world.pass('3m');
    await sandbox.emit.call({ direction: 'outbound', status: 'answered', number: two, durationSeconds: 30 });
    await world.pass('1m');
    expect(await world.texts()).toEqual([]);
    await world.pass('2m');
    const sorry = 'Sorry that we missed your call. How can we help? You can answer right here.';
    expect(await world.texts()).toEqual([`${one}: ${sorry}`]);
  },
  async spanish() {
    await listed(three, `null, null, 'es', '{}'`);
    await world.text(one, 'Hola, ¿tienen citas para mañana?');
    await world.text(two, 'Hello, can I come tomorrow?');
    await world.text(three, 'ok');
    await world.text(one, 'Gracias');
    const bienvenida = 'Gracias por escribirnos. Le respondemos dentro de una hora.';
    const welcome = 'Thank you for writing. We answer within the hour.';
    expect(await world.texts()).toEqual([`${one}: ${bienvenida}`, `${two}: ${welcome}`, `${three}: ${bienvenida}`]);
  },
  async 'vip-reply'() {
    await listed(one, `'Pat', 'Sam', 'en', '{gold,vip}'`);
    await listed(two, `'Kim', 'Sam', 'en', '{gold}'`);
    for (const number of [one, two, three]) await world.text(number, 'Call me');
    expect(await world.texts()).toEqual([`${one}: Thank you, Pat. Sam will call you within the hour.`]);
  },
  async 'voicemail-to-crm'() {
    const legs = [{ calledType: 'mailbox', talkSeconds: 30 } as const];
    const { id: callId } = await sandbox.emit.call({ ...recorded, status: 'voicemail', number: one, legs });
    await sandbox.emit.transcript({ callId, shortSummary: 'The sink leaks.' });
    await world.quiet();
    const call = { id: callId, ended_at: expect.stringMatching(/^2030-.*Z$/) };
    // WIRELESS CALLER, which carriers show, is no name.
    expect(told().map((body) => JSON.parse(body).data.facts)).toEqual([
      { transcript: { summary: 'The sink leaks.' }, call, contact: { number: one } },
    ]);
  },
  async 'three-unanswered'() {
    for (const text of ['Hello?', 'Is anybody there?', 'Hello!', 'I give up']) await world.text(one, text);
    expect(told()).toHaveLength(1);
    expect(world.changes(one)).toEqual(['reopen']);
  },
};

test.each(Object.entries(recipes))('%s', async (name, happens) => {
  const text = await readFile(`${folder}/${name}.yaml`, 'utf8');
  expect(parseRules(text, { file: name, timeZone: 'UTC' }).warnings).toEqual([]);
  await world.rules(text);
  await happens();
});

test('every recipe is tried', async () => {
  expect(
    Object.keys(recipes)
      .map((name) => `${name}.yaml`)
      .toSorted(),
  ).toEqual(await readdir(folder));
});

test('nothing is known of a stranger: each comparison with a missing fact is false', async () => {
  const condition = 'contact.company == "Lamps" || contact.language == "es" || contact.tags.size() != 0';
  await world.rules(`rules:
- { name: known, on: message_received, if: '${condition}', do: [{ resolve: true }] }
- { name: stranger, on: message_received, if: '!has(contact.owner)', do: [{ comment: 'On ${line}' }] }`);
  await world.text(one, 'Call me');
  expect(await world.effects()).toEqual(['stranger comment done']);
});
