import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { until } from '../world.ts';

/** Backends of a database that were halted, so that what is said to them is read only when they end. */
export interface HaltedBackends {
  readonly count: number;
  /** Ends them as a Postgres that stops does, and resolves when they are gone. */
  end(): Promise<void>;
}

const others = `from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;

/** Halts whoever serves a database of a Postgres on this machine: a race with its stop is lost for certain then. */
export async function haltBackends(databaseUrl: string): Promise<HaltedBackends> {
  const pids = await asking(databaseUrl, async (client) => (await client.query(`select pid ${others}`)).rows);
  const halted = pids.filter(({ pid }) => signal(pid, 'SIGSTOP'));
  const goOn = () => {
    for (const { pid } of halted) signal(pid, 'SIGCONT');
  };
  // No database of the server can be created or dropped while one is halted.
  onTestFinished(goOn);
  return {
    count: halted.length,
    end: () =>
      asking(databaseUrl, async (client) => {
        await client.query(`select pg_terminate_backend(pid) ${others}`);
        goOn();
        await until(async () => (await client.query(`select ${others}`)).rowCount === 0);
      }),
  };
}

/** Whether there was somebody to signal: whoever closed its connection may be gone by now. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function asking<T>(connectionString: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
