import { randomBytes } from 'node:crypto';
import pRetry from 'p-retry';
import { Client, escapeIdentifier } from 'pg';
import { afterAll, inject, onTestFinished, TestRunner } from 'vitest';

type Task = { name: string; result?: { state: string } | undefined; tasks?: readonly Task[] };

/** Prepares an empty database, by migrations for example. Its name names the template, so it must not be anonymous. */
export type Preparation = (databaseUrl: string) => Promise<void>;

/**
 * A fresh database for the test file that calls this at its top level, or for the test that calls it; resolves to its URL. It is
 * dropped afterwards, and kept for reading when a test failed. `prepare` runs once per test run: its outcome is the template of
 * every other database that asks for the same preparation.
 */
export async function databaseForTest(prepare?: Preparation): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = await createDatabase(name, prepare && { template: await templateOf(prepare) });
  const end = async (task: Task) => {
    if (!hasFailed(task)) return dropDatabase(name);
    console.error(`${task.name} failed: its database ${name} is kept`);
  };
  if (TestRunner.getCurrentTest()) onTestFinished(({ task }) => end(task));
  // vitest wants the context taken apart, even when nothing of it is used.
  // biome-ignore lint/correctness/noEmptyPattern: see above
  else afterAll(({}, suite) => end(suite));
  return url;
}

/** Creates a database in the Postgres of this run and resolves to its URL; `template` names one to clone. */
export async function createDatabase(name: string, options: { readonly template?: string } = {}): Promise<string> {
  const template = escapeIdentifier(options.template ?? 'template1');
  // Copying its files costs a third of writing each of its pages to the WAL.
  await whileDisksAreFull((client) =>
    client.query(`create database ${escapeIdentifier(name)} template ${template} strategy file_copy ${owned()}`),
  );
  return urlOf(name);
}

/** Drops a database and cuts off whoever is still connected to it. */
export async function dropDatabase(name: string): Promise<void> {
  await whileDisksAreFull((client) => client.query(`drop database if exists ${escapeIdentifier(name)} with (force)`));
}

/** Repeats a statement whose checkpoint fails because the disk of another test is full just now. */
async function whileDisksAreFull(work: (client: Client) => Promise<unknown>): Promise<void> {
  const shouldRetry = ({ error }: { error: Error }) => error.message === 'checkpoint request failed';
  await pRetry(() => asSuperuser(work), { retries: 10, minTimeout: 500, factor: 1, shouldRetry });
}

/** The state of a database at a moment. */
export interface Snapshot {
  /** Puts the database back into that state: whatever was written since is lost, and every connection is cut. */
  restore(): Promise<void>;
}

/** Copies a database, which cuts every connection to it for a moment. */
export async function snapshotOf(databaseUrl: string): Promise<Snapshot> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const [database, copy] = [name, `${name}_copy`].map(escapeIdentifier);
  const whileClosed = (...statements: readonly string[]) =>
    asSuperuser(async (client) => {
      await client.query(`alter database ${database} allow_connections false`);
      await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [name]);
      for (const statement of statements) await client.query(statement);
      await client.query(`alter database ${database} allow_connections true`);
    });
  await whileClosed(`create database ${copy} template ${database} strategy file_copy ${owned()}`);
  return {
    restore: () =>
      whileClosed(`drop database ${database} with (force)`, `alter database ${copy} rename to ${database}`),
  };
}

async function templateOf(prepare: Preparation): Promise<string> {
  const name = `template_${prepare.name}`;
  await asSuperuser(async (client) => {
    // Test files run in processes of their own: the first one prepares, the others wait for it.
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    const found = await client.query('select from pg_database where datname = $1', [name]);
    if (found.rowCount !== 0) return;
    const draft = `${name}_draft`;
    await client.query(`drop database if exists ${escapeIdentifier(draft)} with (force)`);
    await client.query(`create database ${escapeIdentifier(draft)} ${owned()}`);
    await prepare(urlOf(draft));
    await client.query(`alter database ${escapeIdentifier(draft)} rename to ${escapeIdentifier(name)}`);
  });
  return name;
}

/** The address of a test's database for the superuser: for what the owner of a database may not do or set. */
export function superuserUrlOf(databaseUrl: string): string {
  const url = new URL(inject('postgresSuperuserUrl'));
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}

/** Drops a role with what it was granted in a database; its owner may not everywhere. */
export async function dropRole(databaseUrl: string, role: string): Promise<void> {
  const name = escapeIdentifier(role);
  await withClient(superuserUrlOf(databaseUrl), (client) => client.query(`drop owned by ${name}; drop role ${name}`));
}

async function asSuperuser(work: (client: Client) => Promise<unknown>): Promise<void> {
  await withClient(inject('postgresSuperuserUrl'), work);
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function owned(): string {
  return `owner ${escapeIdentifier(decodeURIComponent(new URL(inject('postgresUrl')).username))}`;
}

function urlOf(name: string): string {
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

function hasFailed(task: Task): boolean {
  return task.result?.state === 'fail' || (task.tasks ?? []).some(hasFailed);
}
