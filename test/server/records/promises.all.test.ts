import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query } from '../../../src/db/database.ts';
import { lists } from '../../../src/server/records/lists.ts';
import { launchBrowser } from '../../browser.ts';
import { adminToken, fill, migrated, openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { databaseForTest } from '../../stores/databases.ts';

/* What every list and every record promises, whatever strangers wrote. */

const hostile = '=1+1<script>alert(1)</script>\u202e';
const [line, number, call] = ['18005550100', '18455550123', '1783385492.057900'];
const sendId = '11111111-1111-4111-8111-111111111111';
let world: TestReceiver;
let browser: Browser;

/** Quotes a text in small pieces only. */
const explained = '/rules/explain/70';
const records = [
  '/deliveries/1',
  `/targets/thread/${line}/${number}`,
  `/calls/${call}`,
  `/threads/${line}/${number}`,
  `/sends/${sendId}`,
  '/rules/runs/1',
  '/rules/history/1',
  explained,
];
const listPaths = lists.map(({ path, span }) => (span === undefined ? path : `${path}?span=all`));
const filesOf = (kind: string) => listPaths.map((path) => path.replace(/$|(?=\?)/, `.${kind}`));

beforeAll(async () => {
  world = await openReceiver(settingsFor(await databaseForTest(migrated)));
  browser = await launchBrowser();
  const { db } = world.context.database;
  await fill(db);
  for (const text of [
    'update reporting.params set is_text_shown = true',
    'update ops.deliveries set claimed_type = $1, content_type = $1, user_agent = $1, body = $1, targets = array[$1]',
    `insert into ops.deliveries (event_type, body, targets, is_recognized)
     select $1, $1, array['call ' || $1], true from generate_series(1, 98)`,
    'update ops.sync_targets set last_error = $1',
    `update warehouse.calls set caller_name = $1, caller_number = $1, called_name = $1, direction = 'inbound', external_number = '18455550123'`,
    `insert into warehouse.sms_conversations (conversation_id, line, number)
     overriding system value select 7, '18005550100', '18455550123'`,
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, from_number, direction, body, sent_at, delivery_error, opt_out_verdict,
       content_hash, source, fetch_seq, fetched_at)
     values (7, 70, '18005550100', '18455550123', $1, 'in', $1, now(), $1, 'unsure', 'h', $1, 1, now())`,
    `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason, expires_at)
     values ('${sendId}', $1, '18005550100', '18455550123', 'message', '70', now(), 'live', $1, 'NEEDS_HUMAN', $1, now())`,
    `insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor) values ('${sendId}', null, 'PLANNED', 0, $1, 'rule')`,
    `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason, facts)
     values ($1, $1, 'message_received', '7/70', now(), '18005550100', '18455550123', 'live', true, $1, jsonb_build_object($1::text, $1::text))`,
    `insert into ops.rule_actions (run_id, ordinal, kind, state, reason, send_id) values (1, 1, 'reply', 'done', $1, '${sendId}')`,
    `insert into ops.coverage (stream, from_at, to_at, state, is_watched, due_at, checked_at, last_error)
     values ('calls', date_trunc('hour', now()) - interval '2 hours', date_trunc('hour', now()) - interval '1 hour', 'differs', true, 'infinity', now(), $1)`,
    `insert into ops.rule_versions (version, body, applied_by, why) values (1, $1, $1, $1)`,
  ]) {
    await query(db, text, text.includes('$1') ? [hostile] : []);
  }
});
afterAll(async () => {
  await browser?.close();
  await world[Symbol.asyncDispose]();
});

describe.each([...listPaths, ...filesOf('csv'), ...filesOf('json'), ...records])('%s', (path) => {
  test('opens to the admin token alone, and is not stored anywhere', async () => {
    expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
    const answer = await world.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('same-origin');
    expect(answer.headers.get('content-security-policy')).not.toContain('unsafe');
  });

  test('shows what strangers wrote as text', async () => {
    const text = await (await world.get(path)).text();
    if (path.includes('.json')) {
      expect(JSON.stringify(JSON.parse(text))).toContain('=1+1<script>');
    } else if (path.includes('.csv')) {
      expect(text).toContain("'=1+1");
      expect(text).not.toMatch(/(^|[,;\t\r\n]"?)=1\+1/);
    } else {
      if (path !== explained) expect(text).toContain('=1+1&lt;script&gt;alert(1)');
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('\u202e');
    }
  });
});

test('a list leads from page to page, and counts all rows', async () => {
  const first = await (await world.get('/deliveries?span=all')).text();
  expect(first).toContain('101 rows');
  const [, older = ''] = /href="([^"]+)" rel="next">Older/.exec(first) ?? [];
  const second = await (await world.get(older.replaceAll('&amp;', '&'))).text();
  expect(second).toContain('101 – 101 of 101');
  expect(second).toContain('rel="prev">Newer');
  expect(second).not.toContain('rel="next"');
});

test.each([1280, 390])('every page fits a window of %i pixels, and no policy stops it', async (width) => {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: width < 500 ? 'dark' : 'light',
    httpCredentials: { username: 'pat', password: adminToken },
  });
  const tab = await context.newPage();
  const said: string[] = [];
  tab.on('console', (message) => said.push(message.text()));
  tab.on('pageerror', (error) => said.push(error.message));
  for (const path of [...listPaths, ...records]) {
    await tab.goto(`${world.receiver.url}${path}`);
    expect(await tab.evaluate('document.documentElement.scrollWidth'), path).toBe(width);
    expect(await tab.locator('h1').count(), path).toBe(1);
  }
  expect(said).toEqual([]);
  await context.close();
});
