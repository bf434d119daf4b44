import { writeFile } from 'node:fs/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { runInProcess } from '../cli/in-process.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Replies that wait, for the end of quiet hours or of a pause, while their rule is changed or somebody cancels them. */

const token = 'the-token-of-the-pages';
const line = '16465550100';
const clock = (minutes: number) =>
  new Date(Date.now() + minutes * 60_000).toLocaleTimeString('en-GB', { timeZone: 'America/New_York' }).slice(0, 5);
const quiet = `"${clock(-120)}-${clock(240)}"`;
const rulesWith = (text: string, { hours = quiet } = {}) => `
rules:
  - name: greeting
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: '${text}, {{ message.text }}' }]
    limits: { quiet_hours: ${hours} }
`;

describe('while a version comes into force', async () => {
  const world = await createRulesWorld(rulesWith('Old words'), 'live', 'postgres', { adminToken: token });
  const { sandbox, value, context, receiver } = world;
  afterAll(() => world.close());
  beforeEach(() => world.rules(rulesWith('Old words')));
  let numbers = 12125553000;

  /** A reply that is held back until the quiet hours end. */
  async function held(): Promise<string> {
    numbers += 1;
    const number = String(numbers);
    await sandbox.emit.sms({ line, number, text: 'Hello' });
    await until(async () => (await stateOf(number)) === 'HELD gate:quiet_hours');
    return number;
  }
  const stateOf = (number: string) =>
    value(`select concat_ws(' ', state, reason) from ops.sends where number = $1`, number);
  const bodyOf = (number: string) => value('select body from ops.sends where number = $1', number);
  const idOf = async (number: string) => String(await value('select send_id from ops.sends where number = $1', number));
  const charges = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
  const environment = { DATABASE_URL: context.settings.databaseUrl };

  test('a held reply keeps its words when they are corrected, which apply says', async () => {
    const number = await held();
    const file = `${world.rulesFile}.new`;
    await writeFile(file, rulesWith('New words'));
    const { out } = await runInProcess({ ...environment, TIME_ZONE: 'UTC' }, 'rules', 'apply', file);
    expect(out).toContain('1 text of earlier versions waits and leaves with the words of then.');
    await value('update ops.sends set limits = $2, due_at = now() where number = $1', number, '{"quietHours":"none"}');
    await until(async () => (await stateOf(number)) === 'SENT');
    expect(await bodyOf(number)).toBe('Old words, Hello');
    expect(charges(number)).toBe(1);
  });

  test.each(['off', 'gone'])('one whose rule is %s is dropped at once', async (now) => {
    const number = await held();
    await world.rules(now === 'off' ? `${rulesWith('Old words')}    mode: off\n` : 'rules: []\n');
    expect(await stateOf(number)).toBe('DENIED gate:rule_off');
    expect(charges(number)).toBe(0);
  });

  test('sends that wait can be cancelled by the command, others cannot', async () => {
    const [first, second] = [await held(), await held()];
    const ids = [await idOf(first), await idOf(second)];
    const { code, out } = await runInProcess(environment, 'sends', 'cancel', ...ids);
    expect([code, out]).toEqual([0, '2 sends are cancelled and will never be sent.\n']);
    expect([await stateOf(first), await stateOf(second)]).toEqual(['DENIED cancelled', 'DENIED cancelled']);
    const again = await runInProcess(environment, 'sends', 'cancel', ids[0] ?? '', '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out)).toEqual([{ sendId: ids[0], state: 'DENIED', isDone: false }]);
    const unknown = await runInProcess(environment, 'sends', 'cancel', '00000000-0000-0000-0000-000000000000');
    expect(unknown.code).not.toBe(0);
    expect(unknown.err).toContain('There is no send');
    await world.rules(rulesWith('Old words', { hours: 'none' }));
    await world.rulesSettled();
    expect([charges(first), charges(second)]).toEqual([0, 0]);
  });

  test('and on its page', async () => {
    const number = await held();
    const id = await idOf(number);
    const headers = { authorization: `Bearer ${token}` };
    const page = async () => (await fetch(`${receiver.url}/sends/${id}`, { headers })).text();
    expect(await page()).toContain(`/sends/${id}/cancel`);
    const post = () => fetch(`${receiver.url}/sends/${id}/cancel`, { method: 'POST', headers, redirect: 'manual' });
    expect((await post()).status).toBe(303);
    expect(await stateOf(number)).toBe('DENIED cancelled');
    expect(await page()).not.toContain(`/sends/${id}/cancel`);
    expect((await post()).status).toBe(400);
  });
});
