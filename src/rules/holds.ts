import { setTimeout as sleep } from 'node:timers/promises';
import { isOpenSend } from '../ledger/states.ts';
import { hotQuery, type Transaction } from '../warehouse/database.ts';

interface Thread {
  readonly line: string;
  readonly number: string;
}

/** Sends that nobody dispatches before the transaction ends: a reply to a newer trigger can take their place. */
export interface Hold {
  readonly sends: readonly string[];
  /**
   * Whether a worker is at a send of the thread just now, so that nobody can say yet whether it goes out. To take it for
   * sent would leave the thread without a reply if it does not.
   */
  isBusy(thread: Thread): boolean;
}

/** A worker holds a send for some statements, unless it stands still: then the thread's triggers had better come later. */
const patienceMs = 250;
const pauseMs = 10;

/**
 * Holds the sends of threads that have not left. One that a worker is at is asked for again, never waited for: whoever holds
 * many threads and waited could wait for somebody who waits for one of them. A request that is out takes longer than that.
 */
export async function holdSends(tx: Transaction, threads: readonly Thread[]): Promise<Hold> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const open = await openSends(tx, threads);
    if (open.some(({ fate }) => fate === 'taken') && performance.now() < deadline) {
      await sleep(pauseMs);
      continue;
    }
    const busy = open.filter(({ fate }) => fate !== 'held');
    return {
      sends: open.flatMap(({ send_id, fate }) => (fate === 'held' ? [send_id] : [])),
      isBusy: ({ line, number }) => busy.some((send) => send.line === line && send.number === number),
    };
  }
}

interface OpenSend extends Thread {
  readonly send_id: string;
  /** `taken`: a worker has it locked; `out`: its request has left, and nothing is known yet of what came of it. */
  readonly fate: 'held' | 'taken' | 'out';
}

function openSends(tx: Transaction, threads: readonly Thread[]): Promise<OpenSend[]> {
  return hotQuery<OpenSend>(
    tx,
    `with open as materialized (
       select send_id, line, number, state from ops.sends s
       where (line, number) in (select * from unnest($1::text[], $2::text[])) and ${isOpenSend}
     ), held as (
       select send_id from ops.sends
       where send_id in (select send_id from open) and state in ('PLANNED', 'HELD', 'RESERVED') for update skip locked
     )
     select open.send_id, line, number,
       case when held.send_id is not null then 'held' when state in ('DISPATCHED', 'UNKNOWN') then 'out' else 'taken' end as fate
     from open left join held using (send_id)`,
    [threads.map(({ line }) => line), threads.map(({ number }) => number)],
  );
}
