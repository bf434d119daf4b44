import { afterAll, expect, test } from 'vitest';
import { createContext } from '../../src/context.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver } from '../../src/server/receiver.ts';
import { adminToken, settingsFor } from '../ops/receiver.ts';
import { createDatabase, dropDatabase } from '../stores/databases.ts';
import { migrated, migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

async function open(databaseUrl: string) {
  const { log, text } = captureLog();
  const context = await createContext(settingsFor(databaseUrl), { log, name: 'test', maxConnections: 3 });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  return {
    logged: () =>
      text()
        .split('\n')
        .filter((line) => line.includes('A request could not be answered')),
    async get(path: string, accept = 'text/html') {
      const headers = { authorization: `Bearer ${adminToken}`, accept };
      const answer = await fetch(`${receiver.url}${path}`, { headers });
      return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await context[Symbol.asyncDispose]();
    },
  };
}

const fault = 'This is a fault of Trunkline: the log of this process has the error.';

test('an error of the code of a page is 500, and is logged once with its path', async () => {
  await using world = await open(database.url);
  await database.query(
    `insert into ops.rule_versions (version, rules, body, applied_by) values (1, 'null', 'rules: []', 'a test')`,
  );
  for (let time = 0; time < 2; time += 1) {
    const { status, type, text } = await world.get('/rules/history/1');
    expect({ status, type }).toEqual({ status: 500, type: 'text/html; charset=utf-8' });
    expect(text).toContain(`<p>${fault}</p>`);
  }
  expect(world.logged()).toEqual([expect.stringMatching(/TypeError.*"path":"\/rules\/history\/:id"/)]);
});

test.each([
  ['/coverage', 'text/html', 'gaps'],
  ['/coverage.csv', 'text/html', 'gaps'],
  ['/coverage.json', '*/*', 'gaps'],
  ['/rules/edit', 'text/html', 'rule_versions'],
])('an error of the SQL of %s is 500 and logged too', async (path, accept, table) => {
  await using world = await open(database.url);
  await database.query(`alter table ops.${table} rename to elsewhere`);
  const { status, text } = await world.get(path, accept);
  await database.query(`alter table ops.elsewhere rename to ${table}`);
  expect(status).toBe(500);
  expect(text).toContain(accept === '*/*' ? JSON.stringify({ error: fault }) : `<p>${fault}</p>`);
  expect(world.logged()).toEqual([expect.stringContaining(`relation \\"ops.${table}\\" does not exist`)]);
});

test('only a database that cannot be used is 503, and no fault', async () => {
  const name = `test_faults_${process.pid}`;
  const url = await createDatabase(name);
  await migrated(url);
  await using world = await open(url);
  expect((await world.get('/coverage')).status).toBe(200);
  await dropDatabase(name);
  for (const path of ['/coverage', '/coverage.csv', '/coverage.json', '/rules/edit', '/calls/1783385492.057900']) {
    await expect.poll(async () => (await world.get(path)).status).toBe(503);
    expect((await world.get(path)).text).toContain('Postgres does not answer');
  }
  expect(world.logged()).toEqual([]);
});
