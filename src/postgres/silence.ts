import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase } from 'pg';

const lookMs = 1_000;
/** So long nothing may come while an answer is owed before Postgres is asked by another way. */
const silentMs = 5_000;
/** Who only listens is asked after as long, so that a dead connection shows, and is not forgotten for being idle. */
const restMs = 15_000;
/** What Postgres has just answered may still be on its way. */
const graceMs = 500;
const patienceMs = 5_000;

interface Wire {
  readonly client: ClientBase;
  readonly stream: Socket;
  /** Who serves it, by an id that no later session has. */
  readonly session: string;
  /** Bytes that had been written when Postgres was last done. */
  done: number;
  /** Bytes that had come at the last look, and when the last of them were seen. */
  read: number;
  heard: number;
  /** Since when Postgres has owed an answer and sent nothing. */
  since: number;
}

/**
 * Ends connections to Postgres that are dead without a word: a firewall that forgot them, or a host that is gone, sends
 * no reset, and the system would wait a quarter of an hour or more for the answer. How long a statement takes says
 * nothing. But where Postgres itself, asked by a new connection, waits for us while we wait for it, or knows no such session,
 * nothing comes any more. Returns the watch over one new connection; one that leads through a pooler is left alone.
 */
export function breakSilence(url: string): (client: ClientBase) => Promise<void> {
  const wires = new Set<Wire>();
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;

  async function look(): Promise<void> {
    const now = performance.now();
    for (const wire of wires) {
      if (isSilent(wire)) continue;
      if (wire.stream.bytesRead !== wire.read) wire.heard = now;
      wire.read = wire.stream.bytesRead;
      wire.since = now;
      if (now - wire.heard >= restMs) wire.client.query('select').catch(() => undefined);
    }
    const silent = [...wires].filter(({ since }) => now - since >= silentMs);
    if (silent.length === 0 || isAsking) return;
    isAsking = true;
    // Where Postgres cannot be asked, it is away for every connection: the next look asks again.
    await endDead(url, silent).catch(() => undefined);
    isAsking = false;
  }

  return async (client) => {
    const { rows } = await client.query<Served>(`select pid, ${session} as session ${ours}`);
    const { connection, processID } = client as Client & { readonly processID: number | null };
    // A pooler gives its own number: the session behind it may serve somebody else a moment later.
    if (rows[0]?.pid !== processID) return;
    const stream = connection.stream as Socket;
    const now = performance.now();
    const wire: Wire = {
      client,
      stream,
      session: rows[0].session,
      done: stream.bytesWritten,
      read: stream.bytesRead,
      heard: now,
      since: now,
    };
    connection.on('readyForQuery', () => {
      wire.done = stream.bytesWritten;
    });
    wires.add(wire);
    timer ??= setInterval(look, lookMs).unref();
    stream.once('close', () => {
      wires.delete(wire);
      if (wires.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  };
}

interface Served {
  readonly pid: number;
  readonly session: string;
}

/** An id of a process comes back; together with its beginning it does not. */
const session = `pid || ' ' || extract(epoch from backend_start)`;
const ours = 'from pg_stat_activity where pid = pg_backend_pid()';

/** Whether Postgres has been asked something, and not a byte has come since the last look. */
function isSilent({ stream, done, read }: Wire): boolean {
  return stream.bytesWritten > done && stream.bytesRead === read;
}

async function endDead(url: string, silent: readonly Wire[]): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const busy = await client.query<{ session: string }>(
      `select ${session} as session from pg_stat_activity
       where ${session} = any($1) and wait_event_type is distinct from 'Client'`,
      [silent.map((wire) => wire.session)],
    );
    await sleep(graceMs, undefined, { ref: false });
    const working = new Set(busy.rows.map((row) => row.session));
    const dead = silent.filter((wire) => !working.has(wire.session) && isSilent(wire));
    for (const { stream } of dead) stream.destroy(new Error('Nothing comes over the connection any more'));
    // What it had begun is undone at once: its locks would be held until Postgres misses us.
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${session} = any($1)`, [
      dead.map((wire) => wire.session),
    ]);
  } finally {
    // Its end would wait for a goodbye that may not come either.
    client.connection.stream.destroy();
  }
}
