import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { RequestRecord } from '../../src/sandbox/history.ts';
import { wantedTypes } from '../../src/sync/subscriptions/ensure.ts';
import { createPart, type Part, root } from '../faults/deployment/part.ts';
import { inherited } from '../inherited.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

/*
 * The rules as they are shipped, live in what `npm start` brings up: an embedded Postgres, the sandbox, all workers. Of the
 * file only the silence and the wait are shorter, and the office is closed today.
 */

const run = promisify(execFile);
const limit = { timeout: conditionTimeoutMs, interval: 50 };
const number = {
  asks: '12125550141',
  calls: '12125550142',
  speaks: '12125550143',
  silent: '12125550144',
  urgent: '12125550145',
};

let folder: string;
let start: Part;
let sandboxUrl: string;
let database: Pool;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trunkline-shipped-'));
  // As root, the embedded Postgres runs as another user, who has to reach its data.
  await chmod(folder, 0o755);
  const shipped = await readFile(join(root, 'config/rules.yaml'), 'utf8');
  const today = new Date().toISOString().slice(0, 10);
  const rules = shipped
    .replace('for: 48h', 'for: 4s')
    .replace('after: 2m', 'after: 1s')
    .replace(/holidays: \[/, `holidays: [${today}, `);
  expect(rules).not.toBe(shipped);
  await writeFile(join(folder, 'rules.yaml'), rules);
  start = createPart(
    { name: 'start', args: ['start', '--json'], env: { ...environment(), PORT: '0' }, readyWords: '"databaseUrl"' },
    (end) => void ends.push(end),
  );
  await start.start();
  const addresses = JSON.parse(start.output.split('\n').find((line) => line.includes('"databaseUrl"')) ?? '');
  sandboxUrl = addresses.sandboxUrl;
  database = new Pool({ connectionString: addresses.databaseUrl, max: 1 });
  database.on('error', () => undefined);
  await vi.waitUntil(() => start.output.match(/Webhook subscription created/g)?.length === wantedTypes.length, limit);
});

afterAll(async () => {
  await database.end();
  start.signal('SIGTERM');
  await start.ended();
  for (const end of ends) await end();
  await rm(folder, { recursive: true, force: true });
});

function environment(): Record<string, string> {
  return { DATA_DIR: join(folder, 'data'), RULES_MODE: 'live', RULES_FILE: join(folder, 'rules.yaml') };
}

async function happens<T>(path: string, event: object): Promise<T> {
  const answer = await fetch(`${sandboxUrl}/_sandbox/events/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(event),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { data: T }).data;
}

/** What a rule has done to a number, once all of it has ended. */
async function acts(rule: string, who: string): Promise<readonly string[]> {
  const ended = async () => {
    const { rows } = await database.query<{ act: string; is_over: boolean }>(
      `select concat_ws(' ', a.kind, a.state, a.reason) as act, a.state <> 'waiting' as is_over
       from ops.rule_actions a join ops.rule_runs r using (run_id)
       where r.rule = $1 and r.number = $2 and r.is_matched order by a.run_id, a.ordinal`,
      [rule, who],
    );
    return rows.length > 0 && rows.every(({ is_over }) => is_over) ? rows.map(({ act }) => act) : undefined;
  };
  return vi.waitUntil(ended, limit);
}

/** Requests that changed something about a number, by the end of their paths, as the sandbox answered them. */
async function changes(who: string): Promise<string[]> {
  const answer = await fetch(`${sandboxUrl}/_sandbox/requests?limit=100000`);
  const { data } = (await answer.json()) as { data: RequestRecord[] };
  return data
    .filter(({ method, path }) => method === 'POST' && path.includes(`/${who}/`))
    .map(({ path }) => path.split('/').at(-1) ?? '');
}

async function textsTo(who: string): Promise<string[]> {
  const { rows } = await database.query<{ body: string }>(`select body from ops.sends where number = $1`, [who]);
  const answer = await fetch(`${sandboxUrl}/_sandbox/sends?limit=100000`);
  const { data } = (await answer.json()) as { data: { charge: { to: string[] } | null }[] };
  expect(data.filter(({ charge }) => charge?.to.includes(who))).toHaveLength(rows.length);
  return rows.map(({ body }) => body);
}

test('whoever writes out of hours is answered once, and thanks for the answer end the thread', async () => {
  const { line } = await happens<{ line: string }>('sms', { number: number.asks, text: 'Are you open today?' });
  expect(await acts('out-of-hours-reply', number.asks)).toEqual(['reply done SENT']);
  expect(await textsTo(number.asks)).toEqual([expect.stringMatching(/We are closed right now and open again \w+day/)]);
  // Thanks for the answer end the thread, and are answered by nobody.
  await happens('sms', { line, number: number.asks, text: 'Thanks!' });
  expect(await acts('thanks-resolves', number.asks)).toEqual(['resolve done']);
  expect(await changes(number.asks)).toEqual(['resolve']);
  expect(await textsTo(number.asks)).toHaveLength(1);
  const { rows } = await database.query(
    `select is_resolved from warehouse.sms_conversations where line = $1 and number = $2`,
    [line, number.asks],
  );
  expect(rows).toEqual([{ is_resolved: true }]);
});

test('a missed call is texted back, and a voicemail acknowledged', async () => {
  const call = { direction: 'inbound', group: 'Service' };
  const waits = [
    { calledType: 'ivr', talkSeconds: 10 },
    { calledType: 'queue', status: 'noanswer', ringSeconds: 10 },
  ];
  const speaks = [...waits, { calledType: 'mailbox', talkSeconds: 10 }];
  await happens('call', { ...call, status: 'missed', number: number.calls, legs: waits });
  await happens('call', { ...call, status: 'voicemail', number: number.speaks, legs: speaks });
  expect(await acts('missed-call-text-back', number.calls)).toEqual(['reply done SENT']);
  expect(await acts('voicemail-acknowledgement', number.speaks)).toEqual(['reply done SENT']);
  expect(await textsTo(number.calls)).toEqual([expect.stringContaining('Sorry that we missed your call')]);
  expect(await textsTo(number.speaks)).toEqual([expect.stringContaining('We have your voicemail')]);
});

test('silence after a person’s answer resolves the thread, a new text reopens it, and the next answer begins again', async () => {
  const answer = { number: number.silent, direction: 'out', sentBy: 4156 };
  const { line } = await happens<{ line: string }>('sms', { ...answer, text: 'It is ready for you.' });
  expect(await acts('resolve-after-silence', number.silent)).toEqual(['resolve done']);
  expect(await changes(number.silent)).toEqual(['resolve']);
  await happens('sms', { line, number: number.silent, text: 'It is broken again.' });
  expect(await acts('reopen-on-new-text', number.silent)).toEqual(['reopen done']);
  await happens('sms', { ...answer, line, text: 'Bring it in, please.' });
  await vi.waitUntil(async () => (await changes(number.silent)).length === 3, limit);
  expect(await acts('resolve-after-silence', number.silent)).toEqual(['resolve done', 'resolve done']);
  expect(await changes(number.silent)).toEqual(['resolve', 'reopen', 'resolve']);
});

test('a thread that only rules have answered stays open, however long the silence', async () => {
  const { rows } = await vi.waitUntil(async () => {
    const found = await database.query<{ number: string; is_matched: boolean; outbound: number }>(
      `select r.number, bool_or(r.is_matched) as is_matched,
         (select count(*)::integer from ops.sends s where s.number = r.number and s.state = 'SENT') as outbound
       from ops.rule_runs r where r.rule = 'resolve-after-silence' and r.number = any($1)
         and exists (select from ops.sends s where s.number = r.number and s.message_id::text = split_part(r.trigger_key, '/', 2))
       group by r.number`,
      [[number.calls, number.speaks]],
    );
    return found.rows.length === 2 ? found : undefined;
  }, limit);
  expect(rows.map(({ is_matched, outbound }) => ({ is_matched, outbound }))).toEqual(
    Array(2).fill({ is_matched: false, outbound: 1 }),
  );
  expect([...(await changes(number.calls)), ...(await changes(number.speaks))]).toEqual([]);
});

test('an urgent transcript assigns the thread to whoever talked on the call, with a note, once each', async () => {
  const { id: callId } = await happens<{ id: string }>('call', {
    number: number.urgent,
    direction: 'inbound',
    status: 'answered',
    recorded: true,
    durationSeconds: 240,
    group: 'Service',
    transcriptAfterMs: null,
  });
  await vi.waitUntil(
    async () => (await database.query('select from warehouse.calls where call_id = $1', [callId])).rowCount === 1,
    limit,
  );
  await happens('transcript', { callId, actionRequired: true, urgentActionRequired: true });
  const done = await acts('urgent-call-assigns', number.urgent);
  expect(done.slice(0, 2)).toEqual(['assign done', 'comment done']);
  const { rows } = await database.query(
    `select c.assigned_user_id = any(array(select a.user_id from warehouse.call_attributions a where a.call_id = $1)) as is_agent
     from warehouse.sms_conversations c where c.number = $2`,
    [callId, number.urgent],
  );
  expect(rows).toEqual([{ is_agent: true }]);
  const transcripts = done.length / 2;
  expect((await changes(number.urgent)).sort()).toEqual(
    ['assign', 'comments'].flatMap((each) => Array(transcripts).fill(each)),
  );
});

test('the commands tell of it beside the running start', async () => {
  const command = async <T>(...args: string[]): Promise<T> => {
    const { stdout } = await run(process.execPath, ['src/trunkline.cjs', ...args, '--json'], {
      cwd: root,
      env: { ...inherited, ...environment(), RULES_MODE: 'dry-run' },
    });
    return JSON.parse(stdout) as T;
  };
  const matching = async () => {
    const listed = await command<{ rule: string; mode: string; matched: number }[]>('rules', 'list');
    return listed.filter(({ mode, matched }) => mode === 'live' && matched > 0).length;
  };
  // What rules did is counted every ten seconds.
  await expect.poll(matching, { interval: 1_000 }).toBe(7);
  const { rows: sent } = await database.query("select rule from ops.sends where state = 'SENT'");
  expect(sent.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(['out-of-hours-reply', 'missed-call-text-back', 'voicemail-acknowledgement']),
  );
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const report = await command<{ rules: { rule: string; matched: number }[]; messages: number }>(
    'rules',
    'simulate',
    '--from',
    hourAgo,
  );
  // The others match on what these did.
  const certain = [
    ...['thanks-resolves', 'out-of-hours-reply', 'missed-call-text-back', 'voicemail-acknowledgement'],
    'urgent-call-assigns',
  ];
  const matched = report.rules.flatMap((each) => (each.matched > 0 ? [each.rule] : []));
  expect(matched).toEqual(expect.arrayContaining(certain));
  expect(report.messages).toBeGreaterThanOrEqual(3);
});
