import { writeFile } from 'node:fs/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startHttpReceiver } from '../notify/receivers.ts';
import { createStoryWorld, line } from './world.ts';

/* Replies that wait, for a person's approval or for the end of quiet hours, while their rule changes or somebody drops them. */

const slack = await startHttpReceiver();
const world = await createStoryWorld({
  environment: { NOTIFY_TARGETS: `team=slack:${slack.url}`, PUBLIC_URL: 'https://trunkline.example' },
});
const { value, receiver, trunkline } = world;
afterAll(() => slack[Symbol.asyncDispose]());

const number = '12125554001';
const state = () => value(`select concat_ws(' ', state, reason) from ops.sends order by planned_at desc limit 1`);
const idOf = async () => String(await value('select send_id from ops.sends order by planned_at desc limit 1'));
const headers = { authorization: `Basic ${btoa('lea:an-admin-token-of-the-world')}`, 'sec-fetch-site': 'same-origin' };
const get = async (path: string) => (await fetch(`${receiver.url}${path}`, { headers })).text();
const post = (path: string) => fetch(`${receiver.url}${path}`, { method: 'POST', headers, redirect: 'manual' });

describe('a reply that waits for approval', () => {
  const rulesWith = (text: string, approve = '{ expires: 4h }', mode = 'live') => `rules:
- name: refunds
  on: message_received
  if: message.plain.contains("refund")
  do: [{ reply: { text: '${text}', approve: ${approve} } }, { resolve: true }]
  mode: ${mode}`;
  const asked = async (approve?: string) => {
    await world.rules(rulesWith('We will refund you.', approve));
    await world.text(number, 'I want a refund');
    return idOf();
  };
  const approvalPath = async (id: string, page = `/sends/${id}`) =>
    new RegExp(`/do/sends/approve\\?id=${id}&amp;seen=[0-9a-f]+`).exec(await get(page))?.[0].replace('&amp;', '&') ??
    'none';

  test('is approved on its page or in the list, by a POST, once; the resolve waits for it', async () => {
    const id = await asked();
    expect(await get('/sends')).toContain('1 reply to approve');
    expect(await get(`/sends/${id}`)).toContain('We will refund you.');
    const explained = await trunkline('rules', 'explain', `${line}/${number}`);
    expect(explained.out).toContain('Its reply waits for a person to approve it.');
    await writeFile(world.rulesFile, rulesWith('We will refund you.'));
    const simulated = await trunkline('rules', 'simulate', '--file', world.rulesFile, '--json');
    expect(JSON.parse(simulated.out).rules).toMatchObject([{ isApprovalNeeded: true }]);
    const path = await approvalPath(id);
    expect(await approvalPath(id, '/sends')).toBe(path);
    await get(path);
    expect(await state()).toBe('AWAITING_APPROVAL');
    expect(await world.effects()).toEqual(['refunds reply waiting', 'refunds resolve waiting']);
    const answers = await Promise.all([post(path), post(path)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    const refused = await answers.find(({ status }) => status === 409)?.text();
    expect(refused).toMatch(/does not wait for that: it is .*, decided by lea\./);
    await world.quiet();
    expect(await world.effects()).toEqual(['refunds reply done SENT', 'refunds resolve done']);
    expect(await world.texts()).toEqual([`${number}: We will refund you.`]);
    expect(await get(`/sends/${id}`)).toContain('>lea<');
  });

  test('is approved by a command, which says who', async () => {
    const id = await asked();
    const preview = (await trunkline('sends', 'approve', id, '--dry-run')).out;
    expect(preview).toContain('They wrote: I want a refund');
    expect(preview).toContain('We will refund you.');
    const approved = await trunkline('sends', 'approve', id, '--yes', '--by', 'Lea');
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('Approved.') });
    expect(await value(`select decided_by from ops.send_events where decided_by is not null`)).toBe('Lea');
    expect(await state()).toBe('SENT');
  });

  test('is rejected by a command, and then neither approved nor rejected', async () => {
    const id = await asked();
    const rejected = await trunkline('sends', 'reject', id, '--by', 'Sam', '--why', 'paid already');
    expect(rejected).toMatchObject({ code: 0, out: 'Rejected: it will never be sent.\n' });
    const again = await trunkline('sends', 'approve', id, '--yes');
    const reason = 'It does not wait for that: it is dropped (its text was rejected), decided by Sam.';
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
    expect((await post(`/do/sends/reject?id=${id}`)).status).toBe(409);
    expect(await world.texts()).toEqual([]);
  });

  test('expires', async () => {
    await asked();
    await world.away('5h');
    expect(await state()).toBe('EXPIRED not_approved');
    expect(await world.texts()).toEqual([]);
  });

  test('keeps its words when its rule was changed', async () => {
    const id = await asked();
    await world.rules(rulesWith('We have refunded you.'));
    expect((await post(await approvalPath(id))).status).toBe(303);
    await world.quiet();
    expect(await world.texts()).toEqual([`${number}: We will refund you.`]);
  });

  test('is dropped when the rule only tries it', async () => {
    await asked();
    await world.rules(rulesWith('We will refund you.', '{ expires: 4h }', 'dry-run'));
    await world.pass('5h');
    expect(await state()).toBe('DENIED dry_run');
  });

  test('does not wait where the rule only tries it', async () => {
    await world.rules(rulesWith('We will refund you.', 'true', 'dry-run'));
    await world.text(number, 'A refund, please');
    expect(await state()).toBe('DENIED dry_run');
  });

  test('is told to a target once, with the words, the masked number and a link that approves nothing', async () => {
    const id = await asked('{ notify: team }');
    expect(slack.received.map(({ body }) => JSON.parse(body).text)).toEqual([
      `*A text to …4001 waits for approval (rule refunds)*\nWe will refund you.\nhttps://trunkline.example/sends/${id}`,
    ]);
    await get(`/sends/${id}`);
    expect(await state()).toBe('AWAITING_APPROVAL');
    expect((await post(`/do/sends/reject?id=${id}`)).status).toBe(303);
    await world.quiet();
    const steps = (await world.effects()).map((step) => step.split(' ').slice(1, 3).join(' '));
    expect(steps).toEqual(['reply skipped', 'resolve skipped', 'notify done']);
  });
});

describe('a reply that waits for the end of quiet hours', () => {
  // In Phoenix it is 8:00, in summer too.
  const phoenix = '16025554001';
  const rulesWith = (text: string) => `rules:
- name: greeting
  on: message_received
  do: [{ reply: '${text}, {{ message.text }}' }]
  limits: { quiet_hours: "07:00-10:00" }
`;
  beforeEach(async () => {
    await world.rules(rulesWith('Old words'));
    await world.text(phoenix, 'Hello');
    expect(await state()).toBe('HELD gate:quiet_hours');
  });

  test('leaves then with its old words, which apply says', async () => {
    const file = `${world.rulesFile}.new`;
    await writeFile(file, rulesWith('New words'));
    const { out } = await trunkline('rules', 'apply', file);
    expect(out).toContain('Texts of earlier versions that wait: 1. They leave with the words of then.');
    await world.pass('110m');
    expect(await world.texts()).toEqual([]);
    await world.pass('15m');
    expect(await world.texts()).toEqual([`${phoenix}: Old words, Hello`]);
  });

  test.each([
    ['off', `${rulesWith('Old words')}  mode: off\n`, 'gate:rule_off'],
    ['gone', 'rules: []\n', 'gate:rule_off'],
    ['in dry-run mode', `${rulesWith('Old words')}  mode: dry-run\n`, 'dry_run'],
  ])('is dropped at once when its rule is %s', async (_, rules, reason) => {
    await world.rules(rules);
    expect(await state()).toBe(`DENIED ${reason}`);
  });

  test('can be cancelled by the command, once', async () => {
    const id = await idOf();
    const one = 'Cancelled: it will never be sent.\n';
    expect(await trunkline('sends', 'cancel', id)).toMatchObject({ code: 0, out: one });
    expect(await state()).toBe('DENIED cancelled');
    const again = await trunkline('sends', 'cancel', id, '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out).error.message).toMatch(/an operator cancelled it.*, decided by /);
    const unknown = await trunkline('sends', 'cancel', '00000000-0000-0000-0000-000000000000');
    expect(unknown.code).not.toBe(0);
    expect(unknown.err).toContain('There is no send');
    await world.pass('3h');
    expect(await world.texts()).toEqual([]);
  });

  test('and on its page', async () => {
    const id = await idOf();
    expect(await get(`/sends/${id}`)).toContain(`/do/sends/cancel?id=${id}`);
    expect((await post(`/do/sends/cancel?id=${id}`)).status).toBe(303);
    expect(await state()).toBe('DENIED cancelled');
    expect(await get(`/sends/${id}`)).not.toContain(`/do/sends/cancel?id=${id}`);
    expect((await post(`/do/sends/cancel?id=${id}`)).status).toBe(409);
  });
});
