import { readFile } from 'node:fs/promises';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { eraseNumber } from '../../../src/privacy/erase.ts';
import { runInProcess } from '../../cli/in-process.ts';
import { startHttpReceiver, startMailReceiver } from '../../ops/alert-receivers.ts';
import { placesWith } from '../../privacy/everywhere.ts';
import { until } from '../../world.ts';
import { createRulesWorld } from '../rules-world.ts';

/* Rules tell people and systems: at least once, with the same id, and without keeping what they said. */

const [slack, mail, crm] = await Promise.all([startHttpReceiver(), startMailReceiver(), startHttpReceiver()]);
const environment = {
  NOTIFY_SMTP_URL: mail.url,
  NOTIFY_TARGETS: `support=slack:${slack.url} office=mailto:a@example.com crm=${crm.url}#whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`,
};
const recipe = await readFile('config/cookbook/rules/voicemail-to-crm.yaml', 'utf8');
const rules = `
rules:
  - name: lawyer
    on: message_received
    if: message.plain.contains("lawyer")
    do:
      - notify: { to: support, text: 'From {{ contact.number }}: {{ message.text }}' }
      - resolve: true
  - name: twice
    on: message_received
    if: message.plain == "twice"
    do: [{ notify: { to: support, text: First words } }, { notify: { to: support, text: Second words } }]
  - name: complaint
    on: message_received
    if: message.plain.contains("complaint")
    do: [{ notify: { to: office, text: '{{ message.text }}' } }]
  - name: order
    on: message_received
    if: message.plain.startsWith("order")
    do:
      - webhook: { to: crm, facts: [message.text, contact.number, line] }
      - resolve: true
  - name: only-tried
    on: message_received
    if: message.plain.contains("lawyer")
    mode: dry-run
    do: [{ webhook: { to: crm } }]
  - name: typo
    on: message_received
    if: message.plain == "typo"
    do: [{ notify: { to: suport, text: Hello } }, { webhook: { to: support } }]
${recipe.split('rules:\n').at(-1)}  - name: everything
    on: call_ended
    if: call.status == "voicemail"
    do: [{ webhook: { to: crm } }]
`;
const world = await createRulesWorld(rules, 'live', 'postgres', { environment });
const { sandbox, query, value, context } = world;
afterAll(async () => {
  await world.close();
  await Promise.all([slack, mail, crm].map((each) => each[Symbol.asyncDispose]()));
});
beforeEach(() => {
  slack.received.length = crm.received.length = 0;
  slack.status = crm.status = 200;
});

const line = '16465550100';
const told = (at: number) => JSON.parse(crm.received[at]?.body ?? '');
const stepsOf = (number: string) =>
  query<{ step: string }>(
    `select concat_ws(' ', r.rule, a.kind, a.target, a.state, a.reason) as step
     from ops.rule_actions a join ops.rule_runs r using (run_id) where r.number = $1 order by a.run_id, a.ordinal`,
    number,
  ).then((rows) => rows.map(({ step }) => step));
const now = (number: string) =>
  query(
    `update ops.rule_actions a set due_at = now() from ops.rule_runs r where r.run_id = a.run_id and r.number = $1 and state = 'waiting'`,
    number,
  );

test('Slack gets the text, in which strangers call nobody; nothing keeps it', async () => {
  const number = '12125552001';
  await sandbox.emit.sms({ line, number, text: 'My lawyer <!channel> @here & <https://evil.example|you>' });
  await until(
    async () =>
      (await stepsOf(number)).join() ===
      ['lawyer notify support done', 'lawyer resolve done', 'only-tried webhook crm dry_run'].join(),
  );
  expect(slack.received.map(({ body }) => JSON.parse(body).text)).toEqual([
    'From 12125552001: My lawyer &lt;!channel&gt; @\u200bhere &amp; &lt;https://evil.example|you&gt;',
  ]);
  expect(await value(`select count(*)::int from ops.rule_actions where argument is not null`)).toBe(0);
  expect(crm.received).toEqual([]);
});

test('an e-mail has one subject, whatever they write', async () => {
  const number = '12125552002';
  await sandbox.emit.sms({ line, number, text: `A complaint\r\nBcc: all@example.com\r\n\r\n${'x'.repeat(300)}` });
  await until(() => mail.received.length === 1);
  const [head = ''] = (mail.received[0]?.text ?? '').split('\r\n\r\n');
  expect(mail.received[0]?.to).toEqual(['a@example.com']);
  expect(head).toMatch(/^Subject: A complaint\r$/m);
  expect(head).not.toMatch(/^bcc/im);
});

test('a webhook that is refused comes again with the same id, and keeps no later step back', async () => {
  const number = '12125552003';
  crm.status = 503;
  await sandbox.emit.sms({ line, number, text: 'Order 12 pizzas' });
  await until(async () => (await stepsOf(number)).includes('order resolve done'));
  expect(await stepsOf(number)).toContain('order webhook crm waiting it answered 503');
  crm.status = 200;
  const tries = crm.received.length;
  await now(number);
  await until(async () => (await stepsOf(number)).includes('order webhook crm done'));
  expect(new Set(crm.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(crm.received.length).toBe(tries + 1);
  expect(told(0)).toEqual({
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

test('what failed for good is sent again on request, with its id', async () => {
  const number = '12125552004';
  crm.status = 500;
  await sandbox.emit.sms({ line, number, text: 'Order 2' });
  await until(async () => (await stepsOf(number)).includes('order webhook crm waiting it answered 500'));
  await query(`update ops.rule_runs set evaluated_at = now() - interval '25 hours' where number = $1`, number);
  await now(number);
  await until(async () =>
    (await stepsOf(number)).includes('order webhook crm failed given up after a day: it answered 500'),
  );
  crm.status = 200;
  const id = crm.received.at(-1)?.headers['webhook-id'];
  const run = await value(`select run_id from ops.rule_runs where number = $1`, number);
  const retried = await runInProcess({ DATABASE_URL: context.settings.databaseUrl }, 'rules', 'retry', String(run));
  expect(retried).toMatchObject({ code: 0, out: 'One step is performed again.\n' });
  await until(async () => (await stepsOf(number)).some((step) => step.startsWith('order webhook crm done')));
  expect(crm.received.at(-1)?.headers['webhook-id']).toBe(id);
  const again = await runInProcess({ DATABASE_URL: context.settings.databaseUrl }, 'rules', 'retry', '--to', 'crm');
  expect(again.code).toBe(1);
});

test('each step says the words of its match, whatever the rules say meanwhile', async () => {
  const number = '12125552010';
  slack.status = 503;
  await sandbox.emit.sms({ line, number, text: 'twice' });
  await until(
    async () => (await stepsOf(number)).filter((step) => step.endsWith('waiting it answered 503')).length === 2,
  );
  await world.rules(rules.replace('{ notify: { to: support, text: First words } }, ', '').replace('Second', 'New'));
  onTestFinished(() => world.rules(rules));
  slack.status = 200;
  slack.received.length = 0;
  await now(number);
  await until(async () => (await stepsOf(number)).filter((step) => step.endsWith('support done')).length === 2);
  expect(slack.received.map(({ body }) => JSON.parse(body).text).sort()).toEqual(['First words', 'Second words']);
});

test('a target that is not declared, or takes no facts, is a failure that is named', async () => {
  const number = '12125552005';
  await sandbox.emit.sms({ line, number, text: 'typo' });
  await until(async () => (await stepsOf(number)).filter((step) => step.includes('failed')).length === 2);
  expect(await stepsOf(number)).toEqual([
    'typo notify suport failed NOTIFY_TARGETS has no target suport',
    'typo webhook support failed support is no webhook in NOTIFY_TARGETS, so it takes no facts',
  ]);
});

test('sixty notifications an hour reach a target; the last one says so', async () => {
  const number = '12125552006';
  await query(
    `with run as (
    insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
    select 'other', '1', 'message_received', 'many/' || n, now(), $1, '12125552007', 'live', true, 'matched'
    from generate_series(1, 59 - (select count(*)::int from ops.rule_actions where target = 'support' and state = 'done')) n returning run_id
  ) insert into ops.rule_actions (run_id, ordinal, kind, state, target, settled_at) select run_id, 1, 'notify', 'done', 'support', now() from run`,
    line,
  );
  onTestFinished(() => query(`delete from ops.rule_runs where rule = 'other'`).then(() => {}));
  await sandbox.emit.sms({ line, number, text: 'lawyer one' });
  await until(() => slack.received.length === 1);
  expect(slack.received[0]?.body).toContain('further ones are left out');
  await sandbox.emit.sms({ line, number, text: 'lawyer two' });
  await until(async () =>
    (await stepsOf(number)).some((step) => step.startsWith('lawyer notify support skipped left out')),
  );
  expect(slack.received.length).toBe(1);
});

test('a webhook gets the facts of a voicemail once its transcript is there', async () => {
  const number = '12125552009';
  const { id: callId } = await sandbox.emit.call({
    ...{
      direction: 'inbound',
      status: 'voicemail',
      number,
      recorded: true,
      legs: [{ calledType: 'mailbox', talkSeconds: 30 }],
    },
    ...{ recordingAfterMs: 0, transcriptAfterMs: null },
  });
  await sandbox.emit.transcript({ callId, shortSummary: 'The sink leaks.' });
  await until(() => crm.received.length === 2);
  const factsOf = (rule: string) =>
    crm.received.map(({ body }) => JSON.parse(body).data).find((data) => data.rule === rule)?.facts;
  expect(factsOf('voicemail-to-crm')).toEqual({
    transcript: { summary: 'The sink leaks.' },
    call: { id: callId, ended_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    // WIRELESS CALLER, which carriers show, is no name.
    contact: { number },
  });
  expect(factsOf('everything')).toMatchObject({ call: { status: 'voicemail' }, contact: { number }, hours: {} });
});

test('commands name the targets, and rules check those that are not declared', async () => {
  const of = (...args: string[]) =>
    runInProcess({ DATABASE_URL: context.settings.databaseUrl, ...environment }, ...args);
  expect((await of('rules', 'list')).out).toMatch(/lawyer +message_received +notify support, resolve/);
  const explained = await of('rules', 'explain', `${line}/12125552001`);
  expect(explained.out).toContain('It does: notify support, resolve.');
  expect(explained.out).toContain('notify support: done');
  expect((await of('rules', 'simulate', '--file', world.rulesFile)).out).toMatch(/notify support/);
  const checked = await of('rules', 'check', world.rulesFile);
  expect(checked.code).toBe(1);
  expect(checked.err).toMatch(
    /warning: NOTIFY_TARGETS has no target suport\.\s.*\s.*\s.*targets are: support, office, crm\./s,
  );
  expect(checked.err).toContain('warning: support is a channel of Slack, and takes no facts.');
  const elsewhere = await runInProcess({ RULES_FILE: world.rulesFile }, 'rules', 'check');
  expect(elsewhere).toMatchObject({
    code: 0,
    err: expect.stringContaining('notice: NOTIFY_TARGETS has no target crm.'),
  });
});

test('nobody is told of a person who was erased meanwhile', async () => {
  const number = '12125552008';
  crm.status = 500;
  await sandbox.emit.sms({ line, number, text: 'Order for Xanadu' });
  await until(async () => (await stepsOf(number)).includes('order webhook crm waiting it answered 500'));
  await eraseNumber({ db: context.database.db, queues: context.queues }, number);
  crm.status = 200;
  crm.received.length = 0;
  await query(`update ops.rule_actions set due_at = now() where state = 'waiting'`);
  await world.rulesSettled();
  expect([...(await placesWith(world, number)), ...(await placesWith(world, 'Xanadu'))]).toEqual([]);
  expect(crm.received.filter(({ body }) => body.includes('Xanadu'))).toEqual([]);
});
