import { afterAll, describe, expect, test } from 'vitest';
import { query as ask, sql } from '../../../src/db/database.ts';
import { applyRulesFile } from '../../../src/rules/versions.ts';
import { adminToken, fill, openReceiver, settingsFor } from '../../ops/receiver.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
const world = await openReceiver(settingsFor(database.url));
const [line, number] = ['18005550100', '18455550123'];
const sendIds = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;
const store = (statement: ReturnType<typeof sql>) => ask(db, statement);

await fill(db);
await applyRulesFile(world.context.database.db, world.context.settings, world.context.log);
await store(sql`insert into ops.sends (send_id, rule, rule_version, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, reason,
      expires_at, reserved_micros, unknown_at, planned_at) values
    (${sendIds[0]}, 'greets', 'v1', ${line}, ${number}, 'message', '1', now(), 'live', 'We are closed.', 'NEEDS_HUMAN', 'not found', now(), 50000, now(), now()),
    (${sendIds[1]}, 'greets', 'v1', ${line}, ${number}, 'message', '2', now(), 'live', 'We are closed.', 'DENIED', 'gate:opted_out', now(), 0, null, now())`);
await store(sql`insert into ops.send_events (send_id, from_state, to_state, fence, reason, actor) values
    (${sendIds[0]}, null, 'PLANNED', 0, null, 'rule'), (${sendIds[0]}, 'UNKNOWN', 'NEEDS_HUMAN', 1, 'not found', 'worker')`);
await store(sql`insert into warehouse.sms_conversations (conversation_id, line, number)
    overriding system value values (7, ${line}, '18455550199')`);
await store(sql`insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, body, sent_at, content_hash, source, fetch_seq, fetched_at)
    values (7, 70, ${line}, '18455550199', 'in', 'Where is my order?', now() - interval '1 minute', 'h', 'test', 1, now()),
      (7, 71, ${line}, '18455550199', 'in', 'And now?', now() - interval '30 seconds', 'h', 'test', 1, now())`);
await store(sql`insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, conversation_id, line, number, mode, is_matched, reason, facts)
    values ('thanks-resolves', 'v1', 'message_received', '7/70', now() - interval '1 minute', 7, ${line}, '18455550199', 'dry-run', false,
      'limit:thread', '{"message.plain": "(17 characters)"}'),
      ('out-of-hours-reply', 'v1', 'message_received', '7/70', now() - interval '1 minute', 7, ${line}, '18455550199', 'dry-run', true, 'matched', '{}')`);
await store(sql`insert into ops.rule_tallies (happened_at, version, counts) values (now(), 'v1', '[
    {"rule": "thanks-resolves", "mode": "dry-run", "word": "limit", "count": 1},
    {"rule": "thanks-resolves", "mode": "dry-run", "word": "condition_false", "count": 4},
    {"rule": "out-of-hours-reply", "mode": "dry-run", "word": "matched", "count": 1}]')`);
await store(
  sql`insert into ops.rule_actions (run_id, ordinal, kind, state, send_id) values (2, 1, 'reply', 'dry_run', ${sendIds[1]})`,
);
await store(sql`insert into ops.coverage (stream, from_at, to_at, state, reported_count, held_count, is_watched, due_at, checked_at, last_error)
    select 'calls', at, at + interval '1 hour', case when at < day + interval '1 hour' then 'differs' else 'proven' end, 2, 2, true, 'infinity', now(),
      case when at < day + interval '1 hour' then 'one call is missing' end
    from (select date_trunc('day', now() - interval '2 days', 'UTC') as day) d,
      generate_series(day, day + interval '23 hours', interval '1 hour') at`);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
/** Rows of the list, without those of the table of rules above it. */
const rowsOf = (markup: string) =>
  markup
    .replace(/<table class="in-force">.*?<\/table>/s, '')
    .match(/<tbody>.*<\/tbody>/s)?.[0]
    .match(/<tr>/g)?.length ?? 0;
const post = (path: string) =>
  fetch(`${world.receiver.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: `Bearer ${adminToken}` },
  });
const showWords = (isShown: boolean) => query('update reporting.params set is_text_shown = $1', isShown);

describe('the lists', () => {
  test.each([
    ['/targets', 2],
    ['/targets?state=failing', 1],
    ['/targets?state=refused', 1],
    ['/targets?state=parked', 0],
    ['/targets?state=pending', 3],
    ['/targets?state=pending&kind=call', 2],
    ['/targets?target=1783385493.057901', 2],
    ['/coverage?state=incomplete&span=all', 1],
    ['/sends', 2],
    ['/sends?state=NEEDS_HUMAN', 1],
    ['/sends?mode=dry-run', 0],
    ['/sends?rule=greets&number=845-555-0123', 2],
    ['/rules', 2],
    ['/rules?result=matched', 1],
    ['/rules?result=failed', 0],
    ['/rules?rule=thanks-resolves&span=hour', 1],
  ])('%s has %i rows, and as many in its CSV', async (path, rows) => {
    const markup = await page(path);
    const isLong = path.startsWith('/coverage');
    if (!isLong) expect(rowsOf(markup)).toBe(rows);
    expect(markup).toMatch(/aria-current="page"/);
    const [base = '', parameters = ''] = path.split('?');
    const csv = await page(`${base}.csv?${parameters}`);
    if (!isLong) expect(csv.trimEnd().split('\r\n')).toHaveLength(rows + 1);
  });

  test('a number that is none is refused with the reason, and one in another form is found', async () => {
    expect(await page('/sends?number=2125550131.0')).toContain('number is no phone number: it holds a decimal');
    expect(rowsOf(await page('/sends?number=%2B52+1+55+1234+5678'))).toBe(0);
    await query(`update ops.sends set number = '525512345678' where send_id = $1`, sendIds[0]);
    expect(rowsOf(await page('/sends?number=%2B52+1+55+1234+5678'))).toBe(1);
    await query('update ops.sends set number = $1 where send_id = $2', number, sendIds[0]);
  });

  test('show the name of the imported list beside the number, and in a column of the CSV', async () => {
    await store(sql`insert into warehouse.contacts (number, name) values ('18455550123', 'Kim <b>')`);
    expect(await page('/sends')).toContain('Kim &lt;b&gt; (18455550123)');
    expect(await page('/sends.csv')).toContain(',18455550123,Kim <b>,');
  });

  test('the rules in force stand above their runs, with what each did', async () => {
    const rules = ['thanks-resolves', 'out-of-hours-reply', 'never-tried'].map((name, at) => ({
      ...{ name, on: 'message_received', mode: ['dry-run', 'live', 'off'][at], usesHours: at > 0 },
    }));
    await store(sql`insert into ops.rule_versions (version, body, rules, applied_by, why)
        values (2, '', ${JSON.stringify(rules)}, 'Ann', 'new hours')`);
    const section = /<h2>In force<\/h2>.*?<\/section>/s.exec(await page('/rules'))?.[0] ?? '';
    const rows = [...section.matchAll(/<tr><td>.*?<\/tr>/gs)].map(([row]) =>
      row.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' '),
    );
    expect(rows).toEqual([
      ' thanks-resolves on message_received, dry-run matched 0 of 5 – ',
      expect.stringMatching(
        /^ out-of-hours-reply on message_received, dry-run: it speaks of hours, .* matched 1 of 1 reply: 1 /,
      ),
      ' never-tried on message_received, off not evaluated – ',
    ]);
    expect(section).toContain('by Ann: new hours.');
    expect(section).not.toMatch(/dry_run|DENIED/);
    expect(await page('/rules?result=matched')).toContain('reply: only simulated');
    await store(sql`delete from ops.rule_versions where version > 1`);
  });

  test('a day counts its hours', async () => {
    const day = await value(`select to_char(min(from_at) at time zone 'UTC', 'YYYY-MM-DD') from ops.coverage`);
    const list = await page(`/coverage.csv?from=${day}&to=${day}`);
    expect(list.split('\r\n')[1]).toBe(`${day},not complete,23,24,48,48,,,one call is missing`);
  });

  test('have no words of people while these are hidden', async () => {
    for (const path of ['/sends', `/sends/${sendIds[0]}`, '/rules/runs/1']) {
      const markup = await page(path);
      expect(markup, path).not.toMatch(/We are closed|where is my order/i);
      expect(markup, path).toContain('is_text_shown');
    }
    await showWords(true);
    const shown = await Promise.all(['/sends', `/sends/${sendIds[0]}`, '/rules/runs/1'].map(page));
    await showWords(false);
    const words = ['We are closed.', 'We are closed.', 'where is my order'];
    expect(shown).toEqual(words.map((each) => expect.stringContaining(each)));
  });
});

describe('a read', () => {
  const path = `/targets/thread/${line}/${number}`;

  test('says why it fails, masked, and what comes next', async () => {
    const markup = await page(path);
    expect(markup).toContain('<span class="state">failing</span>. The newest read failed.');
    expect(markup).toContain('refused for …0123');
    expect((await world.get('/targets/thread/1/2')).status).toBe(404);
    expect((await world.get('/targets/unheard/1')).status).toBe(404);
  });

  test('is retried at once, in spite of its back-off', async () => {
    const answer = await post(path);
    expect(answer.headers.get('location')).toBe(`${path}?done=retry`);
    expect(await value(`select due_at <= now() from ops.sync_targets where kind = 'thread'`)).toBe(true);
    expect((await post('/targets/thread/1/2')).status).toBe(404);
  });
});

describe('a send', () => {
  test('say in words what came of a send, and call a dry run no refusal', async () => {
    const set = (reason: string) => store(sql`update ops.sends set reason = ${reason} where send_id = ${sendIds[1]}`);
    await set('dry_run');
    for (const path of ['/sends', `/sends/${sendIds[1]}`, '/rules/runs/2']) {
      const markup = await page(path);
      expect(markup).toContain('simulated');
      expect(markup).not.toMatch(/dry_run|refused by a gate|DENIED<\/td>/);
    }
    await set('gate:opted_out');
    expect(await page('/sends')).toContain('the person has opted out');
  });

  test('says which gate refused it', async () => {
    expect(await page(`/sends/${sendIds[1]}`)).toContain('the person has opted out');
    expect((await world.get('/sends/33333333-3333-4333-8333-333333333333')).status).toBe(404);
    expect((await world.get('/sends/none')).status).toBe(404);
  });

  test('in manual review is settled once', async () => {
    expect(await page(`/sends/${sendIds[0]}`)).toContain('It was not sent');
    const settled = await post(`/sends/${sendIds[0]}/settle/not-sent`);
    expect(settled.headers.get('location')).toBe(`/sends/${sendIds[0]}?done=not-sent`);
    expect(await value('select state from ops.sends where send_id = $1', sendIds[0])).toBe('NOT_SENT');
    expect((await post(`/sends/${sendIds[0]}/settle/sent`)).status).toBe(400);
    expect(await page(`/sends/${sendIds[0]}`)).not.toContain('It was not sent');
  });

  test('waits while all are paused', async () => {
    expect((await post('/sends/pause')).headers.get('location')).toBe('/sends?done=pause');
    expect(await page('/sends')).toContain('All sends are paused since');
    expect((await post('/sends/resume')).status).toBe(303);
    expect(await page('/sends')).toContain('Pause all sends');
  });
});

test('a run whose target refused for good has its steps performed again', async () => {
  const id = await value(`with run as (
      insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, line, number, mode, is_matched, reason)
      values ('tells', 'v1', 'message_received', '7/71', now(), '18005550100', '18455550198', 'live', true, 'matched') returning run_id)
    insert into ops.rule_actions (run_id, ordinal, kind, state, target, reason, settled_at)
    select run_id, 1, 'webhook', 'failed', 'crm', 'it answered 500', now() from run returning run_id as id`);
  expect(await page('/rules?result=step_failed')).toContain('webhook crm: failed');
  expect(await page(`/rules/runs/${id}`)).toContain('Send it again');
  expect((await post(`/rules/runs/${id}/retry`)).headers.get('location')).toBe(`/rules/runs/${id}?done=retry-steps`);
  expect(await value('select state from ops.rule_actions where run_id = $1', id)).toBe('waiting');
  expect((await post(`/rules/runs/${id}/retry`)).status).toBe(400);
  await query('delete from ops.rule_runs where run_id = $1', id);
});

describe('a number that may have opted out', () => {
  const number = '18455550144';
  const write = (id: number, body: string) =>
    store(sql`insert into warehouse.sms_messages (conversation_id, message_id, line, number, from_number, direction, body, sent_at, opt_out_verdict,
          content_hash, source, fetch_seq, fetched_at)
        values (8, ${id}, ${line}, ${number}, ${number}, 'in', ${body}, now(), 'unsure', 'h', 'test', 1, now())`);
  const decisionsOn = async () =>
    [...(await page('/sends')).matchAll(/action="(\/opt-outs\/[^"]+)"/g)].map(([, path = '']) => path);

  test('waits on the page of sends until a person decides, who has read the newest text', async () => {
    await write(80, 'leave me <alone>');
    const [confirm = '', clear = ''] = await decisionsOn();
    expect(await page('/sends')).toContain('1 number may have opted out');
    expect(await page('/sends')).not.toContain('leave me');
    await showWords(true);
    expect(await page('/sends')).toContain('leave me &lt;alone&gt;');
    await showWords(false);
    expect((await post('/opt-outs/1/confirm/x')).status).toBe(404);
    await write(81, 'I said leave me alone');
    const refused = await post(clear);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('They wrote again meanwhile');
    expect((await decisionsOn())[0]).not.toBe(confirm);
    const done = await post((await decisionsOn())[0] ?? '');
    expect(done.headers.get('location')).toBe('/sends?done=opt-out-confirm');
    expect(await decisionsOn()).toEqual([]);
    const [kept] = await query<{ by: string }>(
      `select number, line, decision, source, decided_by as by from ops.opt_outs`,
    );
    expect(kept).toMatchObject({ number, line: '', decision: 'opt_out', source: 'person' });
    expect(kept?.by).toMatch(/^page of sends, bearer from /);
  });
});

describe('a run', () => {
  test('shows which clause was false, of each rule on the same text', async () => {
    const markup = await page('/rules/runs/1');
    expect(markup).toContain('It did not match</span>: its limit per thread is used up.');
    expect(markup).toContain('message.plain.matches(');
    expect(markup).toContain('<b>out-of-hours-reply</b>');
    expect(markup).toContain('<a href="/rules/runs/2">out-of-hours-reply</a>');
    expect(await page('/rules/runs/2')).toContain(`<a href="/sends/${sendIds[1]}">send 22222222</a>`);
    expect((await world.get('/rules/runs/99')).status).toBe(404);
  });

  test('is not needed to see which clause was false: the page of a text leads to what each rule makes of it', async () => {
    expect(await page(`/threads/${line}/18455550199`)).toContain(
      'No rule matched: <a href="/rules/explain/71">why</a>',
    );
    const markup = await page('/rules/explain/71');
    expect(markup).toContain('<b>thanks-resolves</b> its condition is false');
    expect(markup).toContain('message.plain.matches(');
    expect(markup).toContain('Evaluated now');
    expect(markup).not.toContain('waits for call_missed');
    expect((await world.get('/rules/explain/99')).status).toBe(404);
    expect((await world.get('/rules/explain/1783385492.057900')).status).toBe(404);
  });
});

test('the status page leads to the rows behind its numbers', async () => {
  const markup = await page('/');
  for (const path of ['/deliveries?type=AccountSMS&amp;span=day', '/targets?kind=thread&amp;state=failing']) {
    expect(markup).toContain(`href="${path}"`);
  }
  const links = new Set(
    [...markup.matchAll(/<main.*<\/main>/gs)].flatMap(([main]) =>
      [...main.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path),
    ),
  );
  for (const path of links) {
    const answer = await world.get((path ?? '').replaceAll('&amp;', '&'));
    expect(answer.status, path).toBe(200);
    await answer.text();
  }
});
