import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { summarizeSends } from '../../src/ledger/control.ts';
import { applyRulesFile, createRulesReader, rollbackRules } from '../../src/rules/versions.ts';
import { createStoryWorld } from './world.ts';

/* One version of the rules is in force for all workers, from one instant: by command, by the file, with the budgets in it. */

const world = await createStoryWorld();
const { context, query, value, trunkline, rulesFile } = world;
const { db } = context.database;
let asked = 12_125_557_000;
const file = `${rulesFile}.lead`;
const saying = (words: string, before = '') =>
  `${before}\nrules:\n- { name: hello, on: message_received, if: message.plain == "hello", do: [{ reply: ${words} }] }\n`;
const applied = async (text: string, ...more: string[]) => {
  await writeFile(file, text);
  return trunkline('rules', 'apply', file, ...more);
};
async function answer(): Promise<unknown> {
  asked += 1;
  await world.text(String(asked), 'Hello');
  return value(`select concat_ws(' ', state, reason, body) from ops.sends order by planned_at desc limit 1`);
}
const latest = () => value('select max(version) from ops.rule_versions');

test('a version is applied, limited and rolled back, and the history says by whom and why', async () => {
  await world.rules(saying('Words of the file'));
  const { out } = await applied(saying('Words of the lead'), '--why', 'friendlier');
  expect(out).toMatch(/^Version 3 is in force, .*: friendlier\. RULES_MODE is live/);
  expect((await trunkline('rules', 'apply', file)).out).toContain('was in force already');
  expect(await answer()).toBe('SENT Words of the lead');
  const tried = saying('Words of the lead').replace('do:', 'mode: dry-run, do:');
  expect((await applied(tried, '--why', 'a closer look')).code).toBe(0);
  expect(await answer()).toBe('DENIED dry_run Words of the lead');
  expect((await rollbackRules(db, { to: 2, by: 'a test' })).from).toBe(2);
  expect(await answer()).toBe('SENT Words of the file');
  const history = `select concat_ws(' ', version, applied_by, why) as row from ops.rule_versions order by version`;
  expect((await query<{ row: string }>(history)).map(({ row }) => row)).toEqual([
    expect.stringMatching(/^1 .*RULES_FILE/),
    '2 a test',
    expect.stringMatching(/^3 .*friendlier$/),
    expect.stringMatching(/^4 .* a closer look$/),
    expect.stringMatching(/^5 .*back to version 2$/),
  ]);
  expect((await trunkline('rules', 'show', '3')).out).toContain('Words of the lead');
  expect(JSON.parse((await trunkline('rules', 'show', '--json')).out)).toMatchObject({ version: 5 });
});

test('a version with the number of one that is lost is used as it is', async () => {
  const read = createRulesReader('UTC', context.log);
  await applied(saying('Lost words'));
  const lost = await read(db);
  await query('delete from ops.rule_versions where version::text = $1', lost?.version);
  await applied(`${saying('Other words')}- { name: second, on: call_missed, do: [{ reopen: true }] }\n`);
  const found = await read(db);
  expect(found?.version).toBe(lost?.version);
  expect(found?.rules).toHaveLength(2);
});

test('a text with an error is not applied, and no version that never was', async () => {
  const before = await latest();
  expect((await applied('rules: [{ name: broken }]\n')).code).toBe(1);
  await expect(rollbackRules(db, { by: 'a test', to: 99 })).rejects.toThrow('no version 99');
  expect(await latest()).toBe(before);
});

describe('the file', () => {
  const apply = () => applyRulesFile(db, { rulesFile }, context.log);

  test('is applied again once it has changed, and not before', async () => {
    await applied(saying('Words by hand'));
    const byHand = await latest();
    await writeFile(rulesFile, 'rules: []\n');
    await apply();
    expect(await latest()).toBe(byHand);
    await writeFile(rulesFile, saying('Words of a new release'));
    await apply();
    expect(await answer()).toBe('SENT Words of a new release');
  });

  test('leaves rules and budgets as they were when it is bad', async () => {
    await world.rules(saying('Words', 'budgets: { daily_dollars: 0 }'));
    await writeFile(rulesFile, saying('Words').replace('"hello"', '"hello'));
    expect((await apply())?.message).toContain('rules.yaml:3:');
    await writeFile(rulesFile, saying('Words', 'budgets: { daily_dollars: unlimited }'));
    expect((await apply())?.message).toContain('expected number, received string');
    expect(await answer()).toBe('DENIED gate:budget_money Words');
  });
});

test('the budgets of the file hold without a restart, for as long as they stand in it', async () => {
  const dollars = async () => (await summarizeSends(db)).dailyMicros / 1_000_000;
  await world.rules(saying('Words', 'budgets: { daily_dollars: 0 }'));
  expect([await answer(), await dollars()]).toEqual(['DENIED gate:budget_money Words', 0]);
  await world.rules(saying('Words'));
  expect([await answer(), await dollars()]).toEqual(['SENT Words', 5]);
  await world.rules(saying('Words', 'budgets: { per_account: 1 }'));
  expect(await answer()).toBe('DENIED gate:budget_account Words');
});
