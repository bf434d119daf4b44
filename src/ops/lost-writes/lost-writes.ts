import { hash } from 'node:crypto';
import type { Context } from '../../context.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../../db/database.ts';
import { markDirty, type Target, unconfirmed } from '../../inbox/targets.ts';
import type { LostSpan } from '../../ledger/lost-sends.ts';
import { eraseNumber } from '../../privacy/erase.ts';
import { type ErasureRow, type KeptOutside, keepInFolders, keepInRedis, type Mark } from './kept-outside.ts';
import { endRecovery, erasedNumbers, recoverLostSpan, restoreErasures } from './recover.ts';

/*
 * Postgres can go back in time: an asynchronous standby is promoted that lacks the last seconds, or a back-up is restored. Each
 * report of a process counts up in ops.incarnation, and is compared with the newest count that is known outside of Postgres
 * (`kept-outside.ts`); the server must be the one that took the report before.
 *
 *   report ─▶ as expected: keep the new count outside
 *          └▶ the database went back ─▶ recoverLostSpan: sends stop, a new incarnation begins
 *                   ─▶ every process, when it sees the new incarnation: contribute erasures and accepted targets
 *                   ─▶ all is read again ─▶ endRecovery: sends resume
 */

/** The row of ops.incarnation. */
interface Incarnation extends LostSpan {
  readonly deploymentId: string | null;
  readonly incarnationId: string | null;
  /** Those before, also of which the database knew nothing any more. */
  readonly formerIds: readonly string[];
  readonly reportCount: number;
  readonly reportedAt: Date;
  readonly server: string | null;
  readonly isRecovering: boolean;
}

const incarnation = sql`deployment_id as "deploymentId", incarnation_id as "incarnationId", former_ids as "formerIds",
  report_count::float8 as "reportCount", reported_at as "reportedAt", server, lost_from as "from", lost_until as until,
  noticed_at is not null and recovered_at is null as "isRecovering"`;

/** After a report. */
interface Reported extends Incarnation {
  readonly incarnationId: string;
  /** An operator has paused all sends, for this reason. */
  readonly pauseReason: string | null;
  readonly rulesVersion: number;
}

const decisions = sql`(select pause_reason from ops.send_control where is_paused and paused_by = 'operator') as "pauseReason",
  (select coalesce(max(version), 0) from ops.rule_versions) as "rulesVersion"`;

/** Why sends stay paused after the recovery, if an operator had decided so, or what is known of the rules is out of date. */
function pauseReasonOf(mark: Mark | undefined, rulesVersion: number): string | null {
  if (!mark || mark.pauseReason !== null || mark.rulesVersion <= rulesVersion) return mark?.pauseReason ?? null;
  return `version ${mark.rulesVersion} of the rules is lost; apply it again`;
}

async function readIncarnation(db: Database | Transaction, lock = sql``): Promise<Incarnation> {
  const [row] = await query(db, sql<Incarnation>`select ${incarnation} from ops.incarnation ${lock}`);
  if (!row) throw new Error('ops.incarnation has lost its row: apply the migrations again');
  return row;
}

/** Seconds for which processes may have gone on writing after the last report that is known. */
const unreportedSeconds = 15;
/** Targets accepted so much before the lost time are read again too: clocks differ. */
const overlapMs = 60_000;
/** Accepted targets that are read at once. */
const maxAtOnce = 2_000;

/** What a report knows of the server and of earlier reports. */
interface Evidence {
  readonly held: Incarnation;
  /** The server that answers now. */
  readonly server: string | null;
  readonly now: Date;
  readonly mark: (Mark & { readonly isCopied?: boolean }) | undefined;
}

/** The time whose writes are lost, if the database went back. */
export function lostSpanOf({ held, server, now, mark }: Evidence): LostSpan | undefined {
  const reportedUntil = mark && new Date(mark.reportedAt.getTime() + unreportedSeconds * 1_000);
  const until = reportedUntil === undefined || reportedUntil > now ? now : reportedUntil;
  const span = { from: held.reportedAt, until };
  if (mark && !held.formerIds.includes(mark.incarnationId)) {
    if (mark.incarnationId !== held.incarnationId || held.reportCount < mark.reportCount) return span;
    if (mark.isCopied) return { ...span, until: now };
  }
  if (held.server === null || server === null || held.server === server) return undefined;
  const [before, after] = [held.server, server].map((each) => each.slice(0, each.lastIndexOf('/')));
  // A promoted standby has another timeline, and may lack what was written after the last report. Another server or database
  // with all reports was moved while nothing ran.
  const wasMoved = before !== after && mark?.incarnationId === held.incarnationId;
  return wasMoved ? undefined : span;
}

/** What a report found. */
interface Checked {
  readonly lost: LostSpan | undefined;
  /** What was lost is being read again, and sends are paused. */
  readonly isRecovering: boolean;
}

/** Compares the database with what this process knows of it. */
export function watchForLostWrites({
  database: { db },
  queues,
  notifier,
  accepted,
  pauses,
  settings,
  log,
}: Pick<Context, 'database' | 'queues' | 'notifier' | 'accepted' | 'pauses' | 'settings' | 'log'>) {
  let known: Mark | undefined;
  let outside: KeptOutside | undefined;
  let isOutsideFailing = false;
  let erasuresSeen = '';
  const erasures = new Map<string, ErasureRow>();

  /** Best effort: without Redis or a writable DATA_DIR, the memory of the running processes is left. */
  async function ask<T>(work: (kept: KeptOutside) => Promise<T>): Promise<T | undefined> {
    if (!outside) return undefined;
    try {
      const answer = await work(outside);
      isOutsideFailing = false;
      return answer;
    } catch (err) {
      if (!isOutsideFailing) log.warn({ err }, 'What is kept outside of Postgres cannot be read or written');
      isOutsideFailing = true;
      return undefined;
    }
  }

  /** The newest mark of this process, or of those that shared its Redis or DATA_DIR. */
  async function newestMark({ incarnationId, formerIds }: Incarnation): Promise<Evidence['mark']> {
    const kept = incarnationId === null ? undefined : await ask((each) => each.readMark(incarnationId));
    if (known && (known.incarnationId !== kept?.incarnationId || known.reportCount >= kept.reportCount)) {
      return kept?.isCopied ? { ...known, isCopied: true } : known;
    }
    const formerId = formerIds.at(-1);
    return kept ?? (formerId === undefined ? undefined : await ask((each) => each.readMark(formerId)));
  }

  async function report(
    tx: Transaction,
    mark: Evidence['mark'],
    isRestored: boolean,
  ): Promise<{ lost: LostSpan | undefined; row: Reported }> {
    const held = await readIncarnation(tx, sql`for update`);
    const [at] = await query(
      tx,
      sql<
        Pick<Reported, 'rulesVersion'> & { server: string | null; now: Date }
      >`select ops.server_identity() as server, clock_timestamp() as now, ${decisions}`,
    );
    const { server = null, now = new Date(), rulesVersion = 0 } = at ?? {};
    const lost =
      lostSpanOf({ held, server, now, mark }) ?? (isRestored ? { from: held.reportedAt, until: now } : undefined);
    if (lost) {
      const pauseReason = pauseReasonOf(mark, rulesVersion);
      const erasures = await rememberedErasures();
      await recoverLostSpan(tx, lost, { erasures, pauseReason, incarnationId: mark?.incarnationId });
    }
    const [row] = await query(
      tx,
      sql<Reported>`update ops.incarnation i set report_count = report_count + 1, reported_at = clock_timestamp(), server = ${server},
          deployment_id = coalesce(deployment_id, gen_random_uuid()), incarnation_id = coalesce(incarnation_id, gen_random_uuid())
        returning ${incarnation}, ${decisions}`,
    );
    if (!row) throw new Error('ops.incarnation has lost its row: apply the migrations again');
    return { lost, row };
  }

  async function rememberedErasures(): Promise<ErasureRow[]> {
    return [...erasures.values(), ...((await ask((each) => each.erasures())) ?? [])];
  }

  /** Has what this process accepted in the lost time read again, and who was erased in it erased again. */
  async function contribute({ from }: LostSpan): Promise<void> {
    const remembered = await rememberedErasures();
    const restored = await inTransaction(db, (tx) => restoreErasures(tx, remembered));
    const since = from.getTime() - overlapMs;
    const targets = accepted.since(since);
    // Many are read behind new ones. Like all that only deliveries name, they may not exist.
    const priority = targets.length > maxAtOnce ? unconfirmed.bulk : unconfirmed.single;
    const dirty = targets.map((target) => ({ ...target, priority }));
    notifier.notify(await markDirty(db, dirty, pauses));
    log.info({ targets: targets.length, erasures: restored }, 'What was accepted in the lost time is read again');
    if (remembered.length === 0) return;
    // Whoever restored them may have ended before this, and a target that is read again may name one of them.
    for (const number of await erasedNumbers(db)) await eraseNumber({ db, queues }, number);
  }

  /** Copies new erasures, and forgets the targets of whoever was erased. */
  async function copyErasures(): Promise<void> {
    const [state] = await query(db, sql<{ now: string }>`select ops.erasures_state() as now`);
    if (state === undefined || state.now === erasuresSeen) return;
    const rows = await query(
      db,
      sql<ErasureRow & { salt: string }>`select number_hash as "numberHash", spelling_hashes as "spellingHashes", salt
        from ops.erasures cross join secrets.erasure_salt`,
    );
    const hashes = new Set(rows.flatMap(({ numberHash, spellingHashes }) => [numberHash, ...spellingHashes]));
    const salt = rows[0]?.salt ?? '';
    const isErased = (number: string) => hashes.has(hash('sha256', salt + number, 'hex'));
    const isOfErased = ({ kind, key }: Target) => kind === 'thread' && key.split(/[/,]/).some(isErased);
    for (const { numberHash, spellingHashes } of rows) erasures.set(numberHash, { numberHash, spellingHashes });
    accepted.forget(isOfErased);
    if (rows.length > 0) await ask((each) => each.addErasures([...erasures.values()]));
    if (!isOutsideFailing) erasuresSeen = state.now;
  }

  async function open({ deploymentId }: Incarnation): Promise<void> {
    if (outside || deploymentId === null) return;
    const { redisUrl, dataDir } = settings;
    outside = await (redisUrl === undefined
      ? keepInFolders(dataDir, deploymentId, log)
      : keepInRedis(redisUrl, deploymentId));
  }

  /** A recovery to which this process has not contributed yet. */
  let owed: LostSpan | undefined;
  let contributing: Promise<void> | undefined;

  function startContributing(): void {
    if (!owed) return;
    const span = owed;
    // It waits some seconds for each erasure; another loss may be noticed meanwhile.
    contributing ??= contribute(span)
      .then(
        () => {
          if (owed === span) owed = undefined;
        },
        (err: unknown) =>
          log.warn({ err }, 'What was accepted in the lost time cannot be read again yet; it is tried again'),
      )
      .finally(() => {
        contributing = undefined;
      });
  }

  async function checkOnce(isRestored: boolean): Promise<Checked> {
    const before = await readIncarnation(db);
    await open(before);
    const mark = await newestMark(before);
    const isReadable = !isOutsideFailing;
    const { lost, row } = await inTransaction(db, (tx) => report(tx, mark, isRestored));
    await open(row);
    const { incarnationId, reportCount, reportedAt, pauseReason, rulesVersion } = row;
    if (lost && !isRestored)
      log.error(lost, 'The database went back in time: sends are paused until what was lost is read again');
    if (lost || (mark && mark.incarnationId !== incarnationId)) owed = row;
    known = { incarnationId, reportCount, reportedAt, pauseReason, rulesVersion };
    startContributing();
    await copyErasures();
    // Until then, the mark of the former incarnation makes the next process contribute, if this one ends.
    const newest = known;
    if (!owed && isReadable) await ask((each) => each.writeMark(newest));
    const isOver = !owed && row.isRecovering && (await endRecovery(db));
    if (isOver) log.info('What was lost is read again, and sends are resumed');
    return { lost, isRecovering: row.isRecovering && !isOver };
  }

  let checking: Promise<unknown> = Promise.resolve();

  return {
    /**
     * Reports to the database, and begins to recover if it went back, or if it was restored (`isRestored`), which cannot always be
     * noticed. Rejects when it cannot be reached.
     */
    check({ isRestored = false } = {}): Promise<Checked> {
      const checked = checking.then(() => checkOnce(isRestored));
      checking = checked.catch(() => undefined);
      return checked;
    },
    /** Whether a transaction sees all that was reported. False before `check` has noticed that it does not. */
    async isCurrent(tx: Database | Transaction): Promise<boolean> {
      if (!known) return true;
      const [row] = await query(
        tx,
        sql<{
          is_current: boolean;
        }>`select incarnation_id = ${known.incarnationId} and report_count >= ${known.reportCount}
            and server is not distinct from ops.server_identity() as is_current from ops.incarnation`,
      );
      return row?.is_current === true;
    },
    async close(): Promise<void> {
      await contributing;
      await outside?.close();
    },
  };
}
