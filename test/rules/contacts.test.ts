import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const recipe = await readFile(new URL('../../config/cookbook/rules/vip-reply.yaml', import.meta.url), 'utf8');
const world = await createRulesWorld(
  `${recipe.replace('per_thread: 1 per 12h', 'quiet_hours: none')}
  - name: names
    on: message_received
    if: contact.company == "Lamps" || contact.language == "es" || !has(contact.owner) || contact.tags.size() == 0
    do: [{ resolve: true }]
    mode: dry-run
`,
  'live',
  'postgres',
);
const { sandbox, query, value } = world;
afterAll(() => world.close());

const [vip, plain, stranger] = ['17185550601', '17185550602', '17185550603'] as const;

test('a customer with a tag of the imported list gets an answer by name, and nobody else', async () => {
  await query(
    `insert into warehouse.contacts (number, name, owner, language, tags)
     values ($1, 'Pat', 'Sam', 'en', '{gold,vip}'), ($2, 'Kim', 'Sam', 'en', '{gold}')`,
    vip,
    plain,
  );
  for (const number of [vip, plain, stranger]) await sandbox.emit.sms({ number, text: 'Call me' });
  await world.rulesSettled();
  await until(async () => (await value('select state from ops.sends where number = $1', vip)) === 'SENT');
  expect(await query('select number, body from ops.sends')).toEqual([
    { number: vip, body: 'Thank you, Pat. Sam will call you within the hour.' },
  ]);
  expect((await world.runs('vip-reply')).filter((each) => each.is_matched)).toMatchObject([
    { facts: { 'contact.tags': ['gold', 'vip'] } },
  ]);
  // Nothing is known of a stranger: each comparison with a missing fact is false.
  expect(await query(`select number from ops.rule_runs where rule = 'names' and is_matched`)).toEqual([
    { number: stranger },
  ]);
});
