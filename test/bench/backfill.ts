import { once } from 'node:events';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { atLeast, atMost, type Finding, quantity } from './report.ts';
import type { Rig } from './rig/rig.ts';
import { ratiosOf, spreadOf } from './spread.ts';
import { measureIn, startStandIn } from './stand-in/processes.ts';

const calls = 100_000;

interface Filled {
  readonly seconds: number;
  readonly mirrored: number;
  readonly earlyMb: number;
  readonly lateMb: number;
}

/**
 * A hundred thousand calls through search pages of 500, in a process of its own, against one COPY of the very rows that it
 * made into a table of the same columns that has its primary key alone.
 */
export async function backfill(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 2;
  await using service = await startStandIn(calls);
  const filled: Filled[] = [];
  const copied: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const databaseUrl = await rig.stores.database(`backfill_${round}`);
    filled.push(
      await measureIn<Filled>('backfill', [String(calls)], { API_BASE_URL: service.ready, DATABASE_URL: databaseUrl }),
    );
    copied.push(calls / (await copy(databaseUrl)));
    rig.progress(`round ${round} of ${rounds}`);
  }
  const rates = filled.map(({ seconds }) => calls / seconds);
  const ratio = ratiosOf(rates, copied);
  const growth = spreadOf(filled.map(({ earlyMb, lateMb }) => lateMb / earlyMb));
  return [
    {
      bench: 'backfill',
      what: `${calls} calls through search pages`,
      baseline: quantity('COPY', 'rows/s', spreadOf(copied)),
      subject: quantity('mirrored', 'rows/s', spreadOf(rates)),
      ratio,
      goal: atLeast(ratio, 0.2),
      limits: 'one page written while the next is read; service, back-fill and Postgres share the cores',
    },
    {
      bench: 'backfill',
      what: 'memory after 80–100 % of them against 10–30 %',
      baseline: quantity('early', 'MB', spreadOf(filled.map(({ earlyMb }) => earlyMb))),
      subject: quantity('late', 'MB', spreadOf(filled.map(({ lateMb }) => lateMb))),
      ratio: growth,
      goal: atMost(growth, 1.2),
    },
  ];
}

/** Seconds that one COPY of the mirrored rows takes. */
async function copy(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const held = await client.query<{ columns: string }>(
      `select string_agg(column_name, ', ' order by ordinal_position) as columns from information_schema.columns
       where table_schema = 'warehouse' and table_name = 'calls' and is_generated = 'NEVER'`,
    );
    const columns = held.rows[0]?.columns ?? '';
    await client.query(`create table bare_calls as select ${columns} from warehouse.calls with no data`);
    await client.query('alter table bare_calls add primary key (call_id)');
    const lines = await client.query<{ line: string }>({
      text: `select concat_ws(E'\\t', ${columns
        .split(', ')
        .map((name) => `coalesce(${name}::text, '\\N')`)
        .join(', ')}) as line from warehouse.calls order by call_id`,
    });
    if (lines.rowCount !== calls) throw new Error(`The back-fill left ${lines.rowCount} calls.`);
    const text = Buffer.from(lines.rows.map(({ line }) => `${line}\n`).join(''));
    await client.query('checkpoint');
    const began = performance.now();
    const stream = client.query(copyFrom(`copy bare_calls (${columns}) from stdin`));
    const done = once(stream, 'finish');
    for (let at = 0; at < text.length; at += 65_536) {
      if (!stream.write(text.subarray(at, at + 65_536))) await once(stream, 'drain');
    }
    stream.end();
    await done;
    return (performance.now() - began) / 1_000;
  } finally {
    await client.end();
  }
}
