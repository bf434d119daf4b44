import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseRules } from '../../src/rules/file/parse.ts';
import { weekdays } from '../../src/shared/business-hours.ts';
import { runInProcess } from '../cli/in-process.ts';
import { startHttpReceiver } from '../ops/alert-receivers.ts';
import { until } from '../world.ts';
import { options } from './refusal.ts';
import { createRulesWorld } from './rules-world.ts';

/* The recipes of config/cookbook/rules, live on the sandbox: the texts that were charged, the people told, and what was changed. */

const folder = new URL('../../config/cookbook/rules/', import.meta.url);
const recipes = await readdir(folder);
const line = '16465550100';
const otherLine = '16465550101';
const dayMs = 86_400_000;

const people = await startHttpReceiver();
const world = await createRulesWorld('rules: []\n', 'live', 'postgres', {
  environment: { NOTIFY_TARGETS: `support=slack:${people.url} crm=${people.url}#whsec_${'A'.repeat(44)}` },
});
const { sandbox, query, value } = world;
afterAll(async () => {
  await world.close();
  await people[Symbol.asyncDispose]();
});
await until(async () => (await value('select count(*)::integer from warehouse.sms_lines')) !== 0);

let from = { sends: 0, requests: 0, told: 0 };
beforeEach(() => {
  from = { sends: sandbox.sends(100_000).length, requests: sandbox.requests().length, told: people.received.length };
});

const tried = new Set<string>();
/** Puts a recipe in force, as it is but for what depends on the time of day; `change` makes shorter what a test cannot wait for. */
async function apply(name: string, change: (recipe: Recipe) => void = () => undefined): Promise<void> {
  const text = await readFile(new URL(`${name}.yaml`, folder), 'utf8');
  expect(parseRules(text, options).warnings).toEqual([]);
  const recipe: Recipe = parse(text);
  for (const rule of recipe.rules) rule.limits = { ...rule.limits, quiet_hours: 'none' };
  change(recipe);
  tried.add(`${name}.yaml`);
  await world.rules(stringify(recipe));
}
interface Recipe {
  business_hours: Record<string, unknown>;
  readonly offices: Record<string, { time_zone: string }>;
  readonly rules: { limits?: object; after?: string }[];
}

/** A time zone in which it is now about so many hours after midnight. */
function zoneAt(hour: number): string {
  const ahead = ((hour - new Date().getUTCHours() + 35) % 24) - 11;
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

/** A text of theirs, and its evaluation. */
async function says(number: string, text: string, more: { readonly line?: string; readonly sentAt?: string } = {}) {
  await sandbox.emit.sms({ line, number, text, ...more });
  await sent();
}
/** Resolves when rules and their texts are done. */
async function sent(): Promise<void> {
  await world.rulesSettled();
  const isOver = `select not exists (select from ops.sends where state in ('PLANNED', 'RESERVED', 'DISPATCHED', 'UNKNOWN'))`;
  await until(async () => (await value(isOver)) === true);
}
const answer = async (number: string, text: string, sentAt?: string) => {
  await sandbox.emit.sms({ line, number, text, direction: 'out', ...(sentAt !== undefined && { sentAt }) });
  await world.settled();
};
const missedCall = (number: string) =>
  sandbox.emit.call({
    direction: 'inbound',
    status: 'missed',
    group: 'Service',
    number,
    legs: [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }],
  });

/** The texts that left since the test began, by recipient. Each was charged once. */
async function texts(): Promise<Record<string, string[]>> {
  await sent();
  const charged = sandbox
    .sends(100_000)
    .slice(from.sends)
    .flatMap(({ charge }) => charge?.to ?? []);
  const rows = await query<{ number: string; body: string }>(
    `select number, body from ops.sends where state = 'SENT' and number = any($1) order by dispatched_at`,
    charged,
  );
  expect(rows.map(({ number }) => number)).toEqual(charged);
  const byNumber = Map.groupBy(rows, ({ number }) => number);
  return Object.fromEntries([...byNumber].map(([number, sent]) => [number, sent.map(({ body }) => body)]));
}
/** What was changed about a number since the test began: the ends of the paths. */
const changes = (number: string) =>
  sandbox
    .requests()
    .slice(from.requests)
    .filter(({ method, path }) => method === 'POST' && path.includes(`/${number}/`))
    .map(({ path }) => path.split('/').at(-1));
const told = () => people.received.slice(from.told).map(({ body }) => body);

test('angry-callers: people are told of a negative transcript and of a text about a lawyer', async () => {
  await apply('angry-callers');
  await says('12125556001', 'You will hear from my lawyer');
  await says('12125556002', 'Thank you');
  const { id: callId } = await sandbox.emit.call({
    ...{ direction: 'inbound', status: 'answered', number: '12125556003', recorded: true },
    ...{ recordingAfterMs: 0, transcriptAfterMs: null },
  });
  await sandbox.emit.transcript({ callId, callSentiment: 'negative', shortSummary: 'Nobody came.' });
  await until(() => told().length === 2);
  await world.rulesSettled();
  expect(told()).toEqual([
    expect.stringContaining('You will hear from my lawyer'),
    expect.stringContaining('went badly: Nobody came.'),
  ]);
  expect(await texts()).toEqual({});
});

test('nobody-answered: a text before a closed day is assigned half an hour into the next business time', async () => {
  const number = '12125556011';
  const zone = zoneAt(12);
  const now = Date.now();
  const local = new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: zone });
  const yesterday = local.format(now - dayMs).toLowerCase();
  // Open for some twenty minutes.
  const opened = Math.floor(now / 60_000) * 60_000 - 20 * 60_000;
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: zone }).format(opened);
  await apply('nobody-answered', (recipe) => {
    const week = weekdays.filter((name) => name !== yesterday).map((name) => [name, `${clock}-17:00`]);
    recipe.business_hours = { time_zone: zone, ...Object.fromEntries(week) };
  });
  const [hour = 0, minute = 0] = clock.split(':').map(Number);
  const closed = opened - 2 * dayMs + (17 * 60 - hour * 60 - minute) * 60_000;
  const due = Date.now() + 3_000;
  const sentAt = closed - (1_800_000 - (due - opened));
  const owned = `select min(line) from warehouse.sms_line_users where valid_to = 'infinity'`;
  await until(async () => (await value(owned)) !== null);
  const itsLine = String(await value(owned));
  await sandbox.emit.sms({ line: itsLine, number, text: 'Hello?', sentAt: new Date(sentAt).toISOString() });
  await world.settled();
  await world.age();
  await until(() => changes(number).length === 2);
  expect(changes(number).toSorted()).toEqual(['assign', 'comments']);
  const [run] = await query<{ trigger_at: Date }>('select trigger_at from ops.rule_runs where number = $1', number);
  expect(Math.abs(Number(run?.trigger_at) - due)).toBeLessThan(1_000);
  expect(await texts()).toEqual({});
});

test('approved-refund: the text leaves once a person has approved it', async () => {
  await apply('approved-refund');
  const number = '12125556021';
  await sandbox.emit.sms({ line, number, text: 'I want a refund' });
  const waiting = `select send_id from ops.sends where number = $1 and state = 'AWAITING_APPROVAL'`;
  await until(async () => (await value(waiting, number)) !== undefined);
  const id = String(await value(waiting, number));
  const approval = ['sends', 'approve', id, '--yes', '--by', 'Lea'];
  const { code } = await runInProcess({ DATABASE_URL: world.context.settings.databaseUrl }, ...approval);
  expect(code).toBe(0);
  expect(await texts()).toEqual({ [number]: ['Hello, we will refund your order today.'] });
});

test('two-offices: only the office that is closed says so', async () => {
  await apply('two-offices', (recipe) => {
    const week = weekdays.map((name) => [name, '09:00-17:00']);
    recipe.business_hours = { time_zone: zoneAt(12), ...Object.fromEntries(week) };
    const office = recipe.offices['los-angeles'];
    if (office) office.time_zone = zoneAt(4);
  });
  const number = '12125556031';
  await says(number, 'Hello');
  await says(number, 'Hello', { line: otherLine });
  const [told, ...others] = Object.values(await texts()).flat();
  expect(told).toMatch(/^Thank you. We are closed, and open again on \w+day at 9:00 AM\.$/);
  expect(others).toEqual([]);
});

test('reopen-on-reply: every text of theirs opens its thread', async () => {
  await apply('reopen-on-reply');
  await says('12125556041', 'One more thing');
  expect(changes('12125556041')).toEqual(['reopen']);
  expect(await texts()).toEqual({});
});

test('resolve-after-our-answer: an answered thread is resolved, unless it ends in a question of theirs', async () => {
  await apply('resolve-after-our-answer');
  const [thanked, asked] = ['12125556051', '12125556052'];
  const before = (ms: number) => new Date(Date.now() - dayMs - ms).toISOString();
  await sandbox.emit.sms({ line, number: thanked, text: 'Fine, thanks', sentAt: before(60_000) });
  await sandbox.emit.sms({ line, number: asked, text: 'At five?', sentAt: before(60_000) });
  // The day is over in a moment.
  for (const number of [thanked, asked]) await answer(number, 'See you.', before(-3_000));
  await world.settled();
  await world.age();
  const judged = `select count(*)::integer from ops.rule_runs r where number in ($1, $2)
    and trigger_at = (select max(sent_at) + interval '1 day' from warehouse.sms_messages m where m.number = r.number)`;
  await until(async () => (await value(judged, thanked, asked)) === 2);
  await until(() => changes(thanked).length > 0);
  await world.rulesSettled();
  expect([changes(thanked), changes(asked)]).toEqual([['resolve'], []]);
});

test('keywords: each keyword is answered, also after a person', async () => {
  await apply('keywords');
  const number = '12125556061';
  await answer(number, 'Text us HOURS, ADDRESS or PRICE.', new Date(Date.now() - 60_000).toISOString());
  for (const text of ['And on Sunday?', 'Hours', 'ADDRESS']) await says(number, text);
  const open = 'We are open from Monday to Friday, nine to five.';
  expect(await texts()).toEqual({ [number]: [open, 'You find us at 1 Example Street.'] });
});

test('missed-call-text: a missed caller gets one text, unless we talked meanwhile', async () => {
  await apply('missed-call-text', ({ rules: [rule] }) => {
    if (rule) rule.after = '1h';
  });
  const [waits, talked] = ['12125556071', '12125556072'];
  const calls = [await missedCall(waits), await missedCall(talked), await missedCall(waits)];
  await sandbox.emit.call({ direction: 'outbound', status: 'answered', number: talked, durationSeconds: 30 });
  await world.settled();
  const due = 'select count(*)::integer from ops.rule_events where after_seconds is not null';
  await until(async () => (await value(due)) === calls.length);
  expect(await texts()).toEqual({});
  await query(
    `update ops.rule_events set happened_at = happened_at - interval '1 hour', due_at = now() where after_seconds is not null`,
  );
  await until(async () => (await value(due)) === 0);
  expect(await texts()).toEqual({
    [waits]: ['Sorry that we missed your call. How can we help? You can answer right here.'],
  });
});

test('spanish: new customers are greeted once, in the language of the list or of their words', async () => {
  await apply('spanish');
  const [spanish, english, listed] = ['12125556081', '12125556082', '12125556083'];
  await query(`insert into warehouse.contacts (number, language) values ($1, 'es')`, listed);
  await says(spanish, 'Hola, ¿tienen citas para mañana?');
  await says(english, 'Hello, can I come tomorrow?');
  await says(listed, 'ok');
  await says(spanish, 'Gracias');
  const welcome = 'Thank you for writing. We answer within the hour.';
  const bienvenida = 'Gracias por escribirnos. Le respondemos dentro de una hora.';
  expect(await texts()).toEqual({
    [spanish]: [bienvenida],
    [english]: [welcome],
    [listed]: [bienvenida],
  });
});

test('vip-reply: a customer of the list with the tag is answered by name', async () => {
  await apply('vip-reply');
  const [vip, other] = ['12125556101', '12125556102'];
  await query(`insert into warehouse.contacts (number, name, owner, tags) values ($1, 'Pat', 'Sam', '{vip}')`, vip);
  for (const number of [vip, other]) await says(number, 'Call me');
  expect(await texts()).toEqual({ [vip]: ['Thank you, Pat. Sam will call you within the hour.'] });
});

test('voicemail-to-crm: a system gets the summary of a voicemail', async () => {
  await apply('voicemail-to-crm');
  const number = '12125556111';
  const call = { direction: 'inbound', status: 'voicemail', number, recorded: true } as const;
  const legs = [{ calledType: 'mailbox', talkSeconds: 30 } as const];
  const { id: callId } = await sandbox.emit.call({ ...call, legs, recordingAfterMs: 0, transcriptAfterMs: null });
  await sandbox.emit.transcript({ callId, shortSummary: 'The sink leaks.' });
  await until(() => told().length > 0);
  await world.rulesSettled();
  expect(told().map((body) => JSON.parse(body).data.facts)).toMatchObject([
    { transcript: { summary: 'The sink leaks.' }, contact: { number } },
  ]);
  expect(await texts()).toEqual({});
});

test('three-unanswered: people are told once of three texts without an answer', async () => {
  await apply('three-unanswered');
  const number = '12125556091';
  for (const text of ['Hello?', 'Is anybody there?', 'Hello!', 'I give up']) await says(number, text);
  await until(() => told().length > 0);
  await world.rulesSettled();
  expect(told()).toHaveLength(1);
  expect(changes(number)).toEqual(['reopen']);
});

test('every recipe was tried', () => {
  expect([...tried].sort()).toEqual(recipes);
});
