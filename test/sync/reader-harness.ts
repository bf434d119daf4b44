import { onTestFinished } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import { type DueTarget, markDirty, type Target, type TargetKind } from '../../src/inbox/targets.ts';
import { createSync, type ReadOutcome } from '../../src/sync/sync.ts';
import type { TestDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { type OddService, startOddService } from '../world/service.ts';

/** Reads targets one by one from a service that answers as the test wants; no queue, no waiting. */
export interface ReaderHarness {
  readonly service: OddService;
  readonly due: DueTarget[];
  readonly logged: () => string;
  /** Makes a target due, now, and reads it. */
  read(kind: TargetKind, key: string): Promise<ReadOutcome>;
  /** Reads the target, however far ahead it is due, until it is not pending; at most `most` times. */
  readAll(kind: TargetKind, key: string, most?: number): Promise<ReadOutcome[]>;
  /** Passes the time until the target is due. */
  pass(target: Target): Promise<void>;
  /** Reads a target if it is pending; does not mark it dirty. */
  readIfPending(kind: TargetKind, key: string): Promise<ReadOutcome>;
}

export interface HarnessOptions {
  readonly recheckDelays?: readonly number[];
  readonly now?: () => Date;
  /** A service that is told on which connections it is asked, for several harnesses at one. */
  readonly service?: OddService;
}

const noPauses = { activeMs: 0, refusedMs: 0 };

export async function openReaderHarness(database: TestDatabase, options: HarnessOptions = {}): Promise<ReaderHarness> {
  const service = options.service ?? (await startOddService());
  const captured = captureLog();
  const client = createService({
    baseUrl: service.url,
    apiKey: 'key-of-the-harness',
    log: captured.log,
    retry: { tries: 1 },
    circuit: { failures: 1_000 },
  });
  onTestFinished(async () => {
    await client.close();
    await service[Symbol.asyncDispose]();
  });
  const due: DueTarget[] = [];
  const { db } = database;
  const sync = createSync({
    db,
    service: client,
    log: captured.log,
    pauses: noPauses,
    recheckDelays: options.recheckDelays ?? [60, 120],
    directoryEverySeconds: 600,
    now: options.now ?? (() => new Date()),
    notify: (enqueued) => void due.push(...enqueued),
  });
  const never = new AbortController().signal;

  async function pass({ kind, key }: Target): Promise<void> {
    await database.query('update ops.sync_targets set due_at = now() where kind = $1 and key = $2', kind, key);
  }
  const readIfPending = async (kind: TargetKind, key: string) => (await sync.read({ kind, key }, never)).outcome;
  async function read(kind: TargetKind, key: string): Promise<ReadOutcome> {
    await markDirty(db, [{ kind, key }], noPauses);
    await pass({ kind, key });
    return readIfPending(kind, key);
  }
  return {
    service,
    due,
    logged: captured.text,
    read,
    pass,
    readIfPending,
    async readAll(kind, key, most = 20) {
      const turns = [await read(kind, key)];
      while (turns.length < most) {
        await pass({ kind, key });
        const ended = await readIfPending(kind, key);
        if (ended === 'not_pending') break;
        turns.push(ended);
      }
      return turns;
    },
  };
}
