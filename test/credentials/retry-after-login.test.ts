import { expect, test } from 'vitest';
import { open } from '../sandbox/oauth/login.ts';
import { consent } from './consent.ts';
import { openLogins } from './logins.ts';

const { loginWorld, daemon, begin } = await openLogins();
const { sandbox, database } = loginWorld;

/** May see neither texts nor calls, once `strip` took that away. */
const wrongUser = 4128;

async function strip(): Promise<void> {
  const answer = await fetch(`${sandbox.url}/_sandbox/users/${wrongUser}/role`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ users: 'all', phoneNumbers: false, callReports: false, allowRecordings: false }),
  });
  expect(answer.status).toBe(200);
}

async function logIn(user?: number): Promise<void> {
  const { url } = await begin();
  expect((await open(await consent(url, user === undefined ? {} : { user }))).status).toBe(200);
}

test('what the wrong user was refused comes within a minute of the right log in', async () => {
  await strip();
  await logIn(wrongUser);
  const { id } = await sandbox.emit.call({ status: 'answered' });
  const { line, number } = await sandbox.emit.sms();
  const keys = [id, `${line}/${number}`];
  await database.query(`insert into ops.sync_targets (kind, key) values ('call', $1), ('thread', $2)`, ...keys);
  await daemon.work();
  const states = () =>
    database.query('select kind, state from ops.sync_targets where key = any($1) order by kind, state', keys);
  await expect.poll(states).toEqual(
    expect.arrayContaining([
      { kind: 'call', state: 'forbidden' },
      { kind: 'thread', state: 'forbidden' },
    ]),
  );

  await logIn();
  const began = performance.now();
  await expect
    .poll(() => database.value('select count(*)::integer from warehouse.calls where call_id = $1', id))
    .toBe(1);
  await expect
    .poll(() => database.value('select count(*)::integer from warehouse.sms_messages where line = $1', line))
    .toBeGreaterThan(0);
  expect(performance.now() - began).toBeLessThan(60_000);
  expect(daemon.logged()).toContain('The login makes refused reads due again');
});
