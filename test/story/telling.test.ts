import { writeFile } from 'node:fs/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { runInProcess } from '../cli/in-process.ts';
import { startHttpReceiver, startMailReceiver } from '../notify/receivers.ts';
import { placesIn } from '../privacy/everywhere.ts';
import { createStoryWorld, line } from './world.ts';

/* Rules tell people and systems: at least once, with the same id, and without keeping what they said. */

const [slack, mail, crm] = await Promise.all([startHttpReceiver(), startMailReceiver(), startHttpReceiver()]);
const world = await createStoryWorld({
  environment: {
    NOTIFY_TARGETS: `support=slack:${slack.url} office=${mail.url}?to=a@example.com crm=${crm.url}#whsec_${'A'.repeat(44)}`,
  },
});
const { query, value, context } = world;
afterAll(() => Promise.all([slack, mail, crm].map((each) => each[Symbol.asyncDispose]())));
beforeEach(() => {
  for (const each of [slack, crm]) Object.assign(each, { status: 200 }).received.length = 0;
});

const number = '12125552001';
const on = (name: string, steps: string, more = '') =>
  `- { name: ${name}, on: message_received, if: message.plain.startsWith("${name}"), do: [${steps}]${more} }\n`;
const tells = (text: string) => `{ notify: { to: support, text: '${text}' } }`;
const order = on('order', '{ webhook: { to: crm, facts: [message.text, contact.number, line] } }, { resolve: true }');
const said = () => slack.received.map(({ body }) => JSON.parse(body).text);
const ids = () => new Set(crm.received.map(({ headers }) => headers['webhook-id']));

test('Slack gets the text, in which strangers call nobody; nothing keeps it', async () => {
  const lawyer = on('lawyer', `${tells('From {{ contact.number }}: {{ message.text }}')}, { resolve: true }`);
  await world.rules(`rules:\n${lawyer}${lawyer.replace('name: lawyer', 'name: only-tried, mode: dry-run')}`);
  await world.text(number, 'Lawyer <!channel> @here & <https://evil.example|you>');
  expect(await world.effects()).toEqual([
    'lawyer notify done',
    'lawyer resolve done',
    'only-tried notify dry_run',
    'only-tried resolve dry_run',
  ]);
  expect(said()).toEqual([
    `From ${number}: Lawyer &lt;!channel&gt; @\u200bhere &amp; &lt;https://evil.example|you&gt;`,
  ]);
  expect(await value('select count(*)::int from ops.rule_actions where argument is not null')).toBe(0);
});

test('an e-mail has one subject, whatever they write', async () => {
  await world.rules(`rules:\n${on('complaint', "{ notify: { to: office, text: '{{ message.text }}' } }")}`);
  await world.text(number, `Complaint\r\nBcc: all@example.com\r\n\r\n${'x'.repeat(300)}`);
  const [head = ''] = (mail.received[0]?.text ?? '').split('\r\n\r\n');
  expect(mail.received[0]?.to).toEqual(['a@example.com']);
  expect(head).toMatch(/^Subject: Complaint\r$/m);
  expect(head).not.toMatch(/^bcc/im);
});

test('a webhook that is refused comes again with the same id, and keeps no later step back', async () => {
  await world.rules(`rules:\n${order}`);
  crm.status = 503;
  await world.text(number, 'Order 12 pizzas');
  expect(await world.effects()).toEqual(['order webhook waiting it answered 503', 'order resolve done']);
  crm.status = 200;
  await world.pass('10m');
  expect(await world.effects()).toEqual(['order webhook done', 'order resolve done']);
  expect(ids().size).toBe(1);
  expect(JSON.parse(crm.received[0]?.body ?? '')).toEqual({
    type: 'rule.matched',
    timestamp: expect.any(String),
    data: {
      rule: 'order',
      trigger: { kind: 'message_received', at: expect.any(String) },
      facts: {
        message: { text: 'Order 12 pizzas' },
        contact: { number },
        line: { number: line, name: expect.any(String), can_text: true },
      },
    },
  });
});

test('what failed for a day is sent again on request, with its id', async () => {
  await world.rules(`rules:\n${order}`);
  crm.status = 500;
  await world.text(number, 'Order 2');
  await world.away('25h');
  expect((await world.effects())[0]).toBe('order webhook failed given up after a day: it answered 500');
  crm.status = 200;
  const run = String(await value('select run_id from ops.rule_runs'));
  expect(await world.trunkline('rules', 'retry', run)).toMatchObject({
    code: 0,
    out: 'Sent again within seconds. (steps: 1)\n',
  });
  expect((await world.effects())[0]).toMatch(/^order webhook done/);
  expect(ids().size).toBe(1);
  expect((await world.trunkline('rules', 'retry', '--to', 'crm')).code).toBe(1);
});

test('each step says the words of its match, whatever the rules say meanwhile', async () => {
  await world.rules(`rules:\n${on('twice', `${tells('First words')}, ${tells('Second words')}`)}`);
  slack.status = 503;
  await world.text(number, 'twice');
  await world.rules(`rules:\n${on('twice', tells('New words'))}`);
  slack.status = 200;
  slack.received.length = 0;
  await world.pass('10m');
  expect(said().toSorted()).toEqual(['First words', 'Second words']);
});

test('a target that is not declared, or takes no facts, is a failure that is named, also by the commands', async () => {
  const rules = `rules:\n${on('typo', '{ notify: { to: suport, text: Hello } }, { webhook: { to: support } }')}${order}`;
  await world.rules(rules);
  await world.text(number, 'typo');
  expect(await world.effects()).toEqual([
    'typo notify failed NOTIFY_TARGETS has no target suport',
    'typo webhook failed support is no webhook in NOTIFY_TARGETS, so it takes no facts',
  ]);
  const file = `${world.rulesFile}.typo`;
  await writeFile(file, rules);
  const explained = (await world.trunkline('rules', 'explain', `${line}/${number}`)).out;
  expect(explained).toContain('It does: notify suport, webhook support.');
  expect(explained).toContain('notify suport: failed');
  expect((await world.trunkline('rules', 'simulate', '--file', file)).out).toMatch(/notify suport/);
  const { code, err } = await world.trunkline('rules', 'check', file);
  expect(code).toBe(1);
  expect(err).toMatch(/warning: NOTIFY_TARGETS has no target suport\.\s.*\s.*\s.*targets are: support, office, crm\./s);
  expect(err).toContain('warning: support is a channel of Slack, and takes no facts.');
  const elsewhere = await runInProcess({ RULES_FILE: file }, 'rules', 'check');
  expect(elsewhere).toMatchObject({
    code: 0,
    err: expect.stringContaining('notice: NOTIFY_TARGETS has no target crm.'),
  });
});

test('sixty notifications an hour reach a target; the last one says so', async () => {
  await world.rules(`rules:\n${on('lawyer', tells('Hello'))}`);
  await query(
    `with run as (
       insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
       select 'other', '1', 'message_received', 'many/' || n, now(), $1, '12125552007', 'live', true, 'matched'
       from generate_series(1, 59) n returning run_id
     ) insert into ops.rule_actions (run_id, ordinal, kind, state, target, settled_at)
       select run_id, 1, 'notify', 'done', 'support', now() from run`,
    line,
  );
  for (const text of ['lawyer one', 'lawyer two']) await world.text(number, text);
  expect(said()).toEqual([expect.stringContaining('further ones are left out')]);
  expect((await world.effects(number))[1]).toMatch(/^lawyer notify skipped left out/);
});

test('a webhook can take all facts of a voicemail', async () => {
  await world.rules('rules: [{ name: everything, on: call_ended, do: [{ webhook: { to: crm } }] }]');
  await world.sandbox.emit.call({ direction: 'inbound', status: 'voicemail', number });
  await world.quiet();
  expect(crm.received.map(({ body }) => JSON.parse(body).data.facts)).toMatchObject([
    { call: { status: 'voicemail' }, contact: { number }, hours: {} },
  ]);
});

test('nobody is told of a person who was erased meanwhile', async () => {
  await world.rules(`rules:\n${order}`);
  crm.status = 500;
  await world.text(number, 'Order for Xanadu');
  await eraseNumber({ db: context.database.db, queues: context.queues, knownAfterMs: 0 }, number);
  crm.status = 200;
  crm.received.length = 0;
  await world.pass('10m');
  for (const words of [number, 'Xanadu']) expect(await placesIn({ query, redisUrl: undefined }, words)).toEqual([]);
  expect(crm.received).toEqual([]);
});
