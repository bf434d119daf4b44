import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { wantedTypes } from '../../src/sync/subscriptions/ensure.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';
import { runInProcess } from './in-process.ts';

const databaseUrl = await databaseForTest(migrated);
const { query, ...database } = openDatabase(databaseUrl);
const emptyUrl = await databaseForTest();
const sandbox = await createSandbox({ calls: 3, threads: 1 });
const environment = {
  ...{ DATABASE_URL: databaseUrl, API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey, PORT: '0' },
  ...{ WEBHOOK_SECRET: 'a-secret-of-the-commands', PUBLIC_URL: 'https://mirror.example' },
};
afterAll(async () => {
  await sandbox.close();
  await database[Symbol.asyncDispose]();
});

const run = (args: readonly string[], given: Readonly<Record<string, string>> = {}) =>
  runInProcess({ ...environment, ...given }, ...args);

describe('wrong use ends with 2 and says what would do', () => {
  test.each([
    ['resync lines foo', 'resync lines'],
    ['resync call', 'Name the call: `npx trunkline resync call 1783385492.057900`'],
    ['resync thread', 'Name the thread: write line/number'],
    ['statu', '(Did you mean status?)'],
    ['sends paus', '(Did you mean pause?)'],
    ['events repla', '(Did you mean replay?)'],
    ['events replay five', 'whole number'],
    ['events replay --since yesterday', '12h, 7d or 2w'],
    ['trace 1783385492.057900 --since 7y', '12h, 7d or 2w'],
    ['reporting rebuild --from 7', '12h, 7d or 2w'],
    ['events replay', '--since'],
    ['events replay 5 --since 2026-01-01', '--since'],
    ['rules retry', '--to'],
    ['rules retry 5 --to crm', '--to'],
    ['rules rollback 5', 'say why'],
    ['sends settle 5 sent', '36 characters'],
    ['reconcile --from 2026-11-10 --to 2026-11-01', '--to'],
    ['rules simulate --from 2026-11-10 --to 2026-11-01', '--to'],
    ['erase', 'number'],
    ['migrate --bi-role Wrong', 'no name for a role'],
    ['erase somebody', 'country code'],
    ['erase 2125550131.0', 'a decimal'],
    ['erase 1.2125550131E10', 'a spreadsheet'],
    ['opt-outs confirm', 'number'],
    ['opt-outs confirm 5556001', 'it has only 7 digits'],
    ['opt-outs confirm 2125550131.0', 'a decimal'],
    ['opt-outs clear 212 555 0123', 'too many arguments'],
    ['backfill threads --numbers package.json', 'package.json, lines 1'],
    ['sandbox --port 99999', '65535'],
  ])('%s', async (words, cure) => {
    const { code, out, err } = await run(words.split(' '));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(cure);
    expect(err).not.toMatch(/\n\s+at /);
  });
});

test.each<[string, number, Record<string, string>, string]>([
  ['status', 1, { DATABASE_URL: emptyUrl }, 'trunkline migrate'],
  ['status', 2, { DATABASE_URL: 'x' }, 'DATABASE_URL'],
  ['events replay --since yesterday', 2, {}, '12h, 7d or 2w'],
  ['events replay', 2, {}, '--since'],
  ['status --nope', 2, {}, 'unknown option'],
  ['migrate', 1, { DATABASE_URL: 'postgres://u:a-password@127.0.0.1:1/x' }, 'DATABASE_URL is right'],
  ['subscriptions list', 1, { API_BASE_URL: 'http://127.0.0.1:1' }, 'API_BASE_URL is right'],
  ['subscriptions list', 1, { API_KEY: 'of-nobody' }, 'Set API_KEY'],
  ['rules apply /nope.yaml', 1, {}, '/nope.yaml can’t be read (ENOENT)'],
  ['rules show 77', 1, {}, 'list rules/history'],
  ['subscriptions remove 424242', 1, {}, 'subscriptions list'],
])(
  '%s that fails ends with %i, and says so with its cure, on standard output too for programs',
  async (words, code, given, cure) => {
    const people = await run(words.split(' '), given);
    expect(people).toMatchObject({ code, out: '', err: expect.stringContaining(cure) });
    if (code === 1) expect(people.err.trim()).not.toContain('\n');
    const programs = await run([...words.split(' '), '--json'], given);
    const { error } = JSON.parse(programs.out);
    expect(error).toEqual({ code: expect.any(String), message: expect.any(String), remedy: error.remedy });
    expect(`${error.message} ${error.remedy}`).toContain(cure);
    expect(programs).toMatchObject({ code, err: expect.stringMatching(/./) });
    expect(people.err + programs.out).not.toContain('a-password');
  },
);

// Those that other files run beside a running daemon are not run here once more.
describe('does what is asked, and says it in JSON', () => {
  test.each([
    'migrate --bi-role reader_of_commands',
    'reconcile',
    'backfill calls --from 2026-01-01 --to 2026-01-02',
    'rules simulate --from 2w --to 12h',
    'list coverage span=week',
    'list deliveries span=hour',
    'events replay --since 30min',
    'resync users',
    'rules check',
    'rules facts',
    'rules simulate --from 2026-01-01 --to 2026-01-02',
    'sends pause',
    'sends resume',
    'reporting rebuild',
  ])('%s', async (words) => {
    const { code, out, err } = await run([...words.split(' '), '--json']);
    expect({ code, said: code === 0 ? '' : out + err }).toEqual({ code: 0, said: '' });
    expect(() => JSON.parse(out)).not.toThrow();
  });
});

test('a search for conversations that the service refuses ends at once, and says why', async () => {
  await query(
    `insert into ops.thread_candidates (line, number, evidence) values ('18005550100', '18455550123', 'import')`,
  );
  await query(
    `insert into ops.parked_kinds (kind, reason, missing_scope, parked_until)
     values ('thread', 'sms.thread: insufficient scope', 'sms:read', now() + interval '1 minute')`,
  );
  const { code, err } = await run(['backfill', 'threads']);
  expect(code).toBe(1);
  expect(err.trim().split('\n').at(-1)).toMatch(/insufficient scope.*Grant sms:read to the API key/);
  expect(err).not.toContain('does a worker run');
  await query(`delete from ops.parked_kinds`);
  await query(`truncate ops.thread_candidates, ops.sync_targets`);
});

test('a back-fill without --from takes the year before its end, and says so', async () => {
  const { code, out, err } = await run(['backfill', 'calls', '--to', '2026-01-01T08:00:00Z', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ isFinished: true, doneUntil: '2026-01-01T08:00:00.000Z' });
  expect(err).toContain('From 2024-12-31 00:00:00Z to 2026-01-01 08:00:00Z');
});

test('a comparison says how many hours it could not prove', async () => {
  const now = Date.now();
  const moments = ['--from', new Date(now - 3 * 86_400_000).toISOString(), '--to', new Date(now).toISOString()];
  // Without a total nothing says that the list is whole.
  sandbox.faults({ kind: 'edit', path: 'data.total', operation: 'searchCalls' });
  const doubted = await run(['reconcile', ...moments]);
  expect(doubted.out).toMatch(/hours compared, .*, [1-9]\d* not proven complete yet/);
  sandbox.faults();
  expect(JSON.parse((await run(['reconcile', ...moments, '--json'])).out)).toMatchObject({ failed: 0, unproven: 0 });
});

test('a comparison adds the calls of the current hour too', async () => {
  const { id } = await sandbox.emit.call({ status: 'missed', announce: false });
  expect((await run(['reconcile', '--from', '1h'])).out).toMatch(/ [1-9]\d* calls? new or changed/);
  expect(await query('select from warehouse.calls where call_id = $1', id)).toHaveLength(1);
});

test('a comparison ends when the hours are through that a worker took', async () => {
  await query(`create function ops.take_hours() returns trigger language plpgsql as $$
    begin new.claimed_until = now() + interval '2 seconds'; return new; end $$;
    create trigger take_hours before update on ops.coverage for each row when (new.due_at = now()) execute function ops.take_hours()`);
  const ran = await run(['reconcile', '--json']);
  await query('drop function ops.take_hours cascade');
  expect(await query('select from ops.coverage where due_at <= now()')).toEqual([]);
  const { asked, ...counts } = JSON.parse(ran.out);
  expect(counts).toMatchObject({ compared: asked, failed: 0, unproven: 0 });
});

test('a comparison that failed in a worker is not done', async () => {
  await query(`create function ops.fail_hours() returns trigger language plpgsql as $$
    begin new.due_at = now() + interval '2 minutes'; new.last_error = 'the API could not be reached'; return new; end $$;
    create trigger fail_hours before update on ops.coverage for each row when (new.due_at = now()) execute function ops.fail_hours()`);
  const { code, out } = await run(['reconcile', '--json']);
  await query('drop function ops.fail_hours cascade');
  const { asked, ...counts } = JSON.parse(out);
  expect({ code, ...counts }).toMatchObject({ code: 1, compared: 0, failed: asked, unproven: 0 });
});

test('a webhook is created and removed, only when that is wanted', async () => {
  const ensured = await run(['subscriptions', 'ensure', '--json']);
  expect(ensured.out + ensured.err).not.toContain(environment.WEBHOOK_SECRET);
  const [first = 0, ...others] = (JSON.parse(ensured.out) as { subscriptionId: number }[]).map(
    (each) => each.subscriptionId,
  );
  const removed = await run(['subscriptions', 'remove', String(first), '--yes', '--json']);
  expect(JSON.parse(removed.out)).toEqual({ id: first, isDone: true });

  const response = await fetch(`${sandbox.url}/api/public/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Theirs', url: 'https://other.example/hook', type: 'AccountSMS', enabled: true }),
  });
  const { data } = (await response.json()) as { data: { id: number } };
  const refused = await run(['subscriptions', 'remove', String(data.id)]);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
  const preview = await run(['subscriptions', 'remove', String(data.id), '--dry-run']);
  expect(preview.out).toMatch(/\(Theirs\) would be deleted\. Its address is another than ours\./);
  expect((await run(['subscriptions', 'remove', String(data.id), '--yes'])).code).toBe(0);
  const left = JSON.parse((await run(['subscriptions', 'list', '--json'])).out) as { id: number }[];
  expect(left.map(({ id }) => id)).toEqual(others);
});

test('only a webhook that must be created by hand is told with its address', async () => {
  sandbox.faults({ kind: 'answer', status: 403, operation: 'createWebhook' });
  const { code, out } = await run(['subscriptions', 'ensure', '--json']);
  sandbox.faults();
  expect(code).toBe(1);
  const told = (JSON.parse(out) as { outcome: string; url?: string }[]).map(
    ({ outcome, url = '' }) => `${outcome} ${url}`,
  );
  const byHand = 'to_create_by_hand https://mirror.example/hooks/a-secret-of-the-commands/AccountSMS';
  expect(told).toEqual([byHand, ...wantedTypes.slice(1).map(() => 'in_place ')]);
});

test.each<[string, Record<string, string>, string[]]>([
  ['start', { ADMIN_TOKEN: 'a-small-one' }, ['PORT must be', 'ADMIN_TOKEN has 11 characters']],
  ['web', { ADMIN_TOKEN: 'a-small-one' }, ['PORT must be', 'ADMIN_TOKEN has 11 characters']],
  // Before anything is started.
  ['start', { API_KEY: 'a small one', DATABASE_URL: '' }, ['API_KEY has spaces', 'PORT must be']],
])('%s tells of %j beside all that is wrong', async (command, given, problems) => {
  const { code, err } = await run([command], { ...given, PORT: 'none' });
  expect(code).toBe(2);
  const told = problems.map((problem) => expect.stringContaining(problem));
  expect(err.trim().split('\n')).toEqual(['The settings cannot be used:', ...told]);
  expect(err).not.toMatch(/a.small.one/);
});

test('a sandbox whose port is taken says which flag helps', async () => {
  const { code, err } = await run(['sandbox', '--port', new URL(sandbox.url).port]);
  expect(code).toBe(1);
  expect(err).toMatch(/^Another program listens on port \d+: name a free one with --port/);
});

test('settings are told as JSON', async () => {
  const rows = JSON.parse((await run(['settings', '--json'])).out) as { name: string; isSecret: boolean }[];
  expect(rows.find(({ name }) => name === 'WEBHOOK_SECRET')).toMatchObject({ isSecret: true });
});

test('opt-outs records decisions', async () => {
  const numbers = ['12125550141', '12125550142', '12125550143'];
  for (const [at, number] of numbers.entries()) {
    await query(
      `insert into warehouse.sms_messages (conversation_id, message_id, line, number, from_number, direction, body, sent_at, opt_out_verdict,
         content_hash, source, fetch_seq, fetched_at)
       values (901, $1::bigint, '15550000001', $2, $2, 'in', 'leave me alone', now() - $1::bigint * interval '1 minute', 'unsure', 'h', 'test', 1, now())`,
      at + 1,
      number,
    );
  }
  const [, second = '', third = ''] = numbers;
  const status = async () => (await run(['status'])).out;
  expect(await status()).toContain('3 numbers may have opted out by a text');
  expect(await run(['opt-outs', 'confirm', '+1 (212) 555-0141'])).toMatchObject({ code: 0 });
  for (const number of [second, third]) {
    const cleared = await run(['opt-outs', 'clear', number, '--by', 'Sam', '--json']);
    expect(cleared.code).toBe(0);
    expect(JSON.parse(cleared.out)).toEqual({ number, by: 'Sam', isDone: true });
  }
  expect(await status()).not.toContain('may have opted out');
  const again = await run(['opt-outs', 'clear', second]);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('nothing to clear') });
  await query(`delete from warehouse.sms_messages where conversation_id = 901`);
  await query('truncate ops.opt_outs');
});

test('deliveries are listed and replayed', async () => {
  const body = JSON.stringify({ callId: '1700000001.5', callerNumber: '18455550123' });
  const [{ id = '' } = {}] = await query<{ id: string }>(
    `insert into ops.deliveries (claimed_type, event_type, body, targets, is_recognized)
     values ('AccountEndedCalls', 'AccountEndedCalls', $1, '{call 1700000001.5}', true) returning delivery_id as id`,
    body,
  );
  const { out: list } = await run(['list', 'deliveries', '--json']);
  expect(JSON.parse(list)).toMatchObject([{ delivery: Number(id), points_at: 'call 1700000001.5' }]);
  expect(list).not.toContain('18455550123');
  const { out: replayed } = await run(['events', 'replay', id, '--json']);
  expect(JSON.parse(replayed)).toEqual({ id, deliveries: 1, targets: 1, isDone: true });
  expect((await run(['events', 'replay', '9999'])).err).toContain('There is no delivery 9999');
  await query('truncate ops.deliveries, ops.sync_targets');
});

test('a person is erased after a look', async () => {
  const number = '+1 (555) 010-7777';
  const preview = await run(['erase', number, '--dry-run', '--json']);
  const remaining = expect.arrayContaining(['What this does not erase:']);
  expect(JSON.parse(preview.out)).toEqual({ number: '…7777', removed: {}, isDone: false, remaining });
  const refused = await run(['erase', number]);
  const why = 'Nothing was done, since there is no terminal to ask on: --yes confirms';
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(why) });
  const said =
    /^No row of …7777 is held\.\n…7777 is erased and will not be stored again\.\nWhat this does not erase:\n- the service/;
  expect(await run(['erase', number, '--yes'])).toMatchObject({ code: 0, out: expect.stringMatching(said) });
  const again = await run(['resync', 'thread', '18005550100/15550107777']);
  const words = '…7777 isn’t read, because one of its participants was erased';
  expect(again).toMatchObject({ code: 1, out: '', err: expect.stringContaining(words) });
});

describe('sends settle', () => {
  const sendId = '00000000-0000-4000-8000-000000000001';
  async function inState(state: string): Promise<void> {
    await query('delete from ops.sends where send_id = $1', sendId);
    await query(
      `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at)
       values ($1, 'r', '18457511133', '18455008085', 'message', '1', now(), 'live', 'x', $2, now())`,
      sendId,
      state,
    );
  }

  test.each([
    { state: 'NEEDS_HUMAN', flags: [], code: 2, says: 'Nothing was done' },
    { state: 'NEEDS_HUMAN', flags: ['--yes'], code: 0, says: 'Settled, and nothing was sent again' },
    { state: 'NEEDS_HUMAN', flags: ['--dry-run'], code: 0, says: 'It would be settled as not-sent: $0.00' },
    { state: 'NEEDS_HUMAN', flags: ['--dry-run', '--yes'], code: 2, says: 'cannot be used with' },
    { state: 'UNKNOWN', flags: [], code: 1, says: '--force' },
    { state: 'UNKNOWN', flags: ['--force', '--yes', '--json'], code: 0, says: '"isDone":true' },
    { state: 'DISPATCHED', flags: ['--force'], code: 1, says: 'it is in progress' },
  ])('of a send that is $state with $flags ends with $code', async ({ state, flags, code, says }) => {
    await inState(state);
    const ran = await run(['sends', 'settle', sendId, 'not-sent', ...flags]);
    expect(ran.code).toBe(code);
    expect(ran.out + ran.err).toContain(says);
  });
});

test('an approval while all texts are paused says that the text would wait', async () => {
  const sendId = '00000000-0000-4000-8000-000000000003';
  await query(
    `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at)
     values ($1, 'r', '18457511133', '18455008087', 'message', '3', now(), 'live', 'x', 'AWAITING_APPROVAL', now() + interval '1 hour')`,
    sendId,
  );
  const asked = async () => (await run(['sends', 'approve', sendId, '--dry-run'])).out;
  expect(await asked()).not.toContain('paused');
  await run(['sends', 'pause']);
  expect(await asked()).toContain('All texts are paused: it would wait until `npx trunkline sends resume`');
  await run(['sends', 'resume']);
  await query('delete from ops.sends where send_id = $1', sendId);
});

describe('what strangers wrote changes nothing on a terminal', () => {
  const hostile = 'a\u001b[2J\u009b31m\u202egpj\u2066\u200b\ufeff\u007f\r\u0007b';
  const unsafe = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u;
  const sendId = '00000000-0000-4000-8000-000000000002';
  let delivery = '';

  beforeAll(async () => {
    const [row] = await query<{ delivery_id: string }>(
      `insert into ops.deliveries (claimed_type, content_type, user_agent, body, targets, is_recognized)
       values ($1, $1, $1, $2, array['thread ' || $1::text], true) returning delivery_id`,
      hostile,
      `not JSON: ${hostile}`,
    );
    delivery = row?.delivery_id ?? '';
    await query(
      `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at)
       values ($2, $1, '18457511134', '18455008086', 'message', $1, now(), 'live', $1, 'NEEDS_HUMAN', $1, now())`,
      hostile,
      sendId,
    );
  });
  afterAll(async () => {
    await query('delete from ops.sends where send_id = $1', sendId);
    await query('truncate ops.deliveries');
  });

  test.each([
    ['list', 'deliveries'],
    ['list', 'sends'],
    ['trace', 'delivery', 'DELIVERY'],
    ['sends', 'settle', sendId, 'not-sent', '--dry-run'],
    ['status'],
    ['doctor'],
    ['resync', 'call', hostile],
    ['rules', 'check', hostile],
  ])('%s %s', async (...words) => {
    const args = words.map((word) => (word === 'DELIVERY' ? delivery : word));
    for (const more of [[], ['--json']]) {
      const { out, err } = await run([...args, ...more], { API_KEY: 'of-nobody' });
      expect(out + err).not.toBe('');
      expect(out.replaceAll(/\u001b\[(?:3[0-9]|0)m/g, '')).not.toMatch(unsafe);
      expect(err).not.toMatch(unsafe);
    }
  });

  test('and JSON still says what they wrote', async () => {
    const { out } = await run(['list', 'sends', '--json']);
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ text: hostile, rule: hostile }));
    expect((await run(['list', 'sends'])).out).toContain(
      'a\\u001b[2J\\u009b31m\\u202egpj\\u2066\\u200b\\ufeff\\u007f\\u000d\\u0007b',
    );
  });
});
