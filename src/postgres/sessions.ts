import { hash } from 'node:crypto';
import { Client, type ClientBase } from 'pg';
import { breakSilence } from './silence.ts';

/**
 * Prepares each new connection of a pool. Compiling (`jit`, on by default) takes 0.5 to 3 s where the planner overestimates
 * a statement, and our statements are short. As a statement, because poolers refuse it as a start-up parameter.
 */
export function prepareSession(url: string): (client: ClientBase) => Promise<void> {
  const watch = breakSilence(url);
  return async (client) => {
    await client.query('set jit = off');
    await watch(client);
  };
}

const connectMs = 5_000;

/**
 * Identifies the deployment whose database this is, the same for all of its processes: by server and database, so that a
 * copy of a database (a dump restored elsewhere, a clone) counts as another deployment.
 */
export async function readDeploymentId(databaseUrl: string): Promise<string> {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // A connection that is cut while it ends has nobody else to tell.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ identity: string }>(
      `select (select system_identifier from pg_control_system()) || '/' || oid as identity
       from pg_database where datname = current_database()`,
    );
    return hash('sha256', rows[0]?.identity ?? '').slice(0, 12);
  } finally {
    await client.end().catch(() => undefined);
  }
}
