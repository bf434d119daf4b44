import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { runInProcess } from '../cli/in-process.ts';
import { trunkline } from '../credentials/commands.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* One version of the rules is in force for all workers, from one instant: see also test/story/versions.test.ts. Workers of a lower RULES_MODE are in actions/turns.test.ts. */

const rule = (name: string, word: string, steps: string) => `
  - name: ${name}
    on: message_received
    if: message.plain.startsWith("${word}")
    do: ${steps}
    limits: { quiet_hours: none }`;
const rulesSaying = (words: string) =>
  `rules:${rule('hello', 'hello', `[{ reply: ${words} }]`)}${rule('close', 'close', '[{ resolve: true }]')}\n`;
const line = '16465550100';

const world = await createRulesWorld(rulesSaying('Words 1'), 'live', 'redis', { workers: null });
const { sandbox, query, value, context, rulesFile } = world;
const { databaseUrl, redisUrl } = context.settings;
const stores = { DATABASE_URL: databaseUrl, ...(redisUrl !== undefined && { REDIS_URL: redisUrl }) };
const rules = (...words: string[]) => runInProcess({ ...stores, TIME_ZONE: 'UTC' }, 'rules', ...words);
const start = () => {
  const api = { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey };
  return trunkline({ ...stores, ...api, RULES_MODE: 'live', RULES_FILE: rulesFile, TIME_ZONE: 'UTC' }, 'worker');
};
const apply = async (words: string, why: string) => {
  await writeFile(`${rulesFile}.new`, rulesSaying(words));
  expect(await rules('apply', `${rulesFile}.new`, '--why', why)).toMatchObject({ code: 0, err: '' });
};
let written = 0;
const write = async (count: number) => {
  for (let at = 0; at < count; at += 1) {
    written += 1;
    await sandbox.emit.sms({ line, number: String(12125556000 + written), text: written % 2 ? 'hello' : 'close' });
  }
};

/** Leases and claims of a killed worker end in a minute or two. */
const hasten = () =>
  query(
    `with sends as (update ops.sends set due_at = now()
         where state in ('RESERVED', 'DISPATCHED', 'UNKNOWN') and due_at < now() + interval '59 seconds'),
       targets as (update ops.sync_targets set claimed_until = '-infinity' where claimed_until < now() + interval '50 seconds')
       update ops.rule_actions set claimed_until = now() where state = 'waiting' and claimed_until < now() + interval '75 seconds'`,
  ).catch(() => []);

test('while versions are applied and workers are killed, each text is evaluated by the version then, and answered once in its words', async () => {
  let workers = [start(), start()];
  await until(async () => (await value('select count(*)::int from ops.processes where rules_mode is not null')) === 2);
  for (let version = 2; version <= 6; version += 1) {
    await write(3);
    await apply(`Words ${version}`, `round ${version}`);
    await write(3);
    const [killed, kept] = workers;
    killed?.process.kill('SIGKILL');
    await killed?.ended;
    workers = [...(kept ? [kept] : []), start()];
  }
  await until(
    async () => {
      await hasten();
      const done = `select count(distinct r.number)::int from ops.rule_runs r join ops.rule_actions a using (run_id) where a.state = 'done'`;
      return (await value(done)) === written;
    },
    async () =>
      JSON.stringify(await query(`select number, state, reason, rule_version from ops.sends where state <> 'SENT'`)),
    90_000,
  );
  // Each start found the file unchanged, so the versions applied by hand stayed.
  expect(await query('select version, applied_by from ops.rule_versions where file_hash is not null')).toHaveLength(1);
  const spans = `select v.*, coalesce(lead(applied_at) over (order by version), 'infinity') as until from ops.rule_versions v`;
  expect(
    await query(
      `with v as (${spans}) select r.run_id from ops.rule_runs r join v on v.version::text = r.version
         where r.evaluated_at < v.applied_at or r.evaluated_at > v.until`,
    ),
  ).toEqual([]);
  const sent = await query<{ number: string; body: string; right: string }>(
    `select number, body, 'Words ' || rule_version as right from ops.sends where state = 'SENT'`,
  );
  expect(sent).toHaveLength(written / 2);
  for (const { number, body, right } of sent) {
    expect(body).toBe(right);
    expect(sandbox.sends().filter(({ charge }) => charge?.to.includes(number))).toHaveLength(1);
  }
  expect(await query('select number from ops.rule_runs where is_matched group by number having count(*) > 1')).toEqual(
    [],
  );
  for (const each of workers) each.process.kill('SIGTERM');
  await Promise.all(workers.map((each) => each.ended));
}, 200_000);
