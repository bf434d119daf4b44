import { afterAll, describe, expect, test } from 'vitest';
import { runInProcess } from '../cli/in-process.ts';
import { startHttpReceiver } from '../ops/alert-receivers.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Replies that a person approves: `approve` in the rules file, the page, and the commands. */

const token = 'the-token-of-the-pages';
const line = '16465550100';
const rulesWith = (text: string, approve = '{ expires: 4h }', mode = 'live') => `
rules:
  - name: refunds
    on: message_received
    if: message.plain.contains("refund")
    do: [{ reply: { text: '${text}', approve: ${approve} } }, { resolve: true }]
    limits: { quiet_hours: none }
    mode: ${mode}
`;

describe('a reply that waits for a person', async () => {
  const slack = await startHttpReceiver();
  const world = await createRulesWorld(rulesWith('We will refund you.'), 'live', 'postgres', {
    adminToken: token,
    environment: { NOTIFY_TARGETS: `team=slack:${slack.url}`, PUBLIC_URL: 'https://trunkline.example' },
  });
  afterAll(async () => {
    await world.close();
    await slack[Symbol.asyncDispose]();
  });
  const { sandbox, value, context, receiver } = world;
  const environment = { DATABASE_URL: context.settings.databaseUrl };
  const headers = { authorization: `Basic ${btoa(`lea:${token}`)}`, 'sec-fetch-site': 'same-origin' };
  let numbers = 12125554000;

  async function asked(): Promise<{ number: string; id: string }> {
    numbers += 1;
    const number = String(numbers);
    await sandbox.emit.sms({ line, number, text: 'I want a refund' });
    await until(async () => (await stateOf(number)) === 'AWAITING_APPROVAL');
    return { number, id: String(await value('select send_id from ops.sends where number = $1', number)) };
  }
  const stateOf = (number: string) =>
    value(`select concat_ws(' ', state, reason) from ops.sends where number = $1`, number);
  const charges = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
  const get = async (path: string) => (await fetch(`${receiver.url}${path}`, { headers })).text();
  const post = (path: string) => fetch(`${receiver.url}${path}`, { method: 'POST', headers, redirect: 'manual' });
  const approvalPath = async (id: string, page = `/sends/${id}`) =>
    new RegExp(`/sends/${id}/approve/[0-9a-f]+`).exec(await get(page))?.[0] ?? 'none';

  test('is approved on its page or in the list, by a POST, once; the resolve waits for it', async () => {
    const { number, id } = await asked();
    expect(await get('/sends')).toContain('1 reply to approve');
    expect(await get(`/sends/${id}`)).toContain('We will refund you.');
    const { out: explained } = await runInProcess(environment, 'rules', 'explain', `${line}/${number}`);
    expect(explained).toContain('Its reply waits for a person to approve it.');
    const { out: simulated } = await runInProcess(environment, 'rules', 'simulate', '--file', world.rulesFile);
    expect(simulated).toContain('Each text would first wait for a person to approve it.');
    const path = await approvalPath(id);
    expect(await approvalPath(id, '/sends')).toBe(path);
    await get(path);
    expect(await stateOf(number)).toBe('AWAITING_APPROVAL');
    expect((await world.actions('refunds')).map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    const [first, second] = await Promise.all([post(path), post(path)]);
    expect([first.status, second.status].toSorted()).toEqual([303, 400]);
    const refused = first.status === 400 ? first : second;
    expect(await refused.text()).toMatch(/does not wait for approval: it is .*, decided by page of sends, lea from /);
    await until(async () => (await stateOf(number)) === 'SENT');
    await world.rulesSettled();
    expect((await world.actions('refunds')).map(({ state }) => state)).toEqual(['done', 'done']);
    expect(charges(number)).toBe(1);
    expect(await get(`/sends/${id}`)).toContain('page of sends, lea from');
  });

  test('is approved or rejected by a command, which says who and why', async () => {
    const [first, second] = [await asked(), await asked()];
    const preview = await runInProcess(environment, 'sends', 'approve', first.id, '--dry-run');
    expect(preview.out).toContain('They wrote: I want a refund');
    expect(preview.out).toContain('We will refund you.');
    const approved = await runInProcess(environment, 'sends', 'approve', first.id, '--yes', '--by', 'Lea');
    expect([approved.code, approved.out]).toEqual([0, expect.stringContaining('Approved by Lea.')]);
    await until(async () => (await stateOf(first.number)) === 'SENT');
    const rejected = await runInProcess(
      environment,
      'sends',
      'reject',
      second.id,
      '--by',
      'Sam',
      '--why',
      'paid already',
    );
    expect([rejected.code, rejected.out]).toEqual([0, 'Rejected by Sam: it will never be sent.\n']);
    const again = await runInProcess(environment, 'sends', 'approve', second.id, '--yes');
    expect(again.code).toBe(1);
    expect(again.err).toContain(
      'It does not wait for approval: it is dropped (its text was rejected), decided by Sam.',
    );
    expect((await post(`/sends/${second.id}/reject`)).status).toBe(400);
    expect(charges(second.number)).toBe(0);
  });

  test('keeps its words when its rule was changed, and is dropped when the rule only tries them', async () => {
    const { number, id } = await asked();
    await world.rules(rulesWith('We have refunded you.'));
    expect((await post(await approvalPath(id))).status).toBe(303);
    await until(async () => (await stateOf(number)) === 'SENT');
    expect(await value('select body from ops.sends where send_id = $1', id)).toBe('We will refund you.');
    const other = await asked();
    await world.rules(rulesWith('We will refund you.', '{ expires: 4h }', 'dry-run'));
    await value('update ops.sends set due_at = now() where send_id = $1', other.id);
    await until(async () => (await stateOf(other.number)) === 'DENIED dry_run');
    await world.rules(rulesWith('We will refund you.'));
  });

  test('tells a target once, with the words, the masked number and a link that approves nothing', async () => {
    await world.rules(rulesWith('We will refund you.', '{ notify: team }'));
    const { number, id } = await asked();
    await until(async () => slack.received.length > 0);
    const last = number.slice(-4);
    expect(slack.received.map(({ body }) => JSON.parse(body).text)).toEqual([
      `*A text to …${last} waits for approval (rule refunds)*\nWe will refund you.\nhttps://trunkline.example/sends/${id}`,
    ]);
    await get(`/sends/${id}`);
    expect(await stateOf(number)).toBe('AWAITING_APPROVAL');
    expect((await post(`/sends/${id}/reject`)).status).toBe(303);
    await world.rulesSettled();
    const steps = (await world.actions('refunds')).slice(-3).map(({ kind, state }) => `${kind} ${state}`);
    expect(steps).toEqual(['reply skipped', 'resolve skipped', 'notify done']);
  });

  test('nothing waits in dry-run mode', async () => {
    await world.rules(rulesWith('We will refund you.', 'true', 'dry-run'));
    numbers += 1;
    const number = String(numbers);
    await sandbox.emit.sms({ line, number, text: 'A refund, please' });
    await until(async () => (await stateOf(number)) === 'DENIED dry_run');
  });
});
