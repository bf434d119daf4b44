import { type AccountCheck, type AccountReads, isNotFound, meaningOf, ServiceError } from '../api-client/client.ts';
import { type Database, inTransaction, query, retryDeadlock, sql, type Transaction } from '../db/database.ts';
import type { Log } from '../shared/log.ts';

/*
 * The account that answers is recognized by newest calls, lines and users of the mirror. Only reads before the last
 * successful check count (ops.account): what a wrong account left behind can't vouch for it.
 */

/** What is known of the mirrored account, and the time of the check by Postgres's clock. */
interface Known {
  readonly at: Date;
  readonly isSandbox: boolean | null;
  readonly calls: readonly string[];
  readonly lines: readonly string[];
  readonly users: readonly string[];
}

/** Calls of several ages: a service that lost its newest calls, as after a restored back-up, is recognized too. */
const ages = sql`(values (interval '0'), (interval '3 hours'), (interval '1 day'), (interval '7 days')) a (age)`;
const callsOfAge = 2;
/** Maximum calls of each age that are searched for. */
const maxSearched = 200;

async function readKnown(db: Database): Promise<Known> {
  const [known] = await query(
    db,
    sql<Known>`with account as (
       select max(recognized_at) as recognized_at, coalesce(max(accepted_at), '-infinity') as accepted_at, bool_or(is_sandbox) as is_sandbox
       from ops.account
     )
     select clock_timestamp() as at, is_sandbox as "isSandbox",
       array(select call_id from ${ages} cross join lateral (
           select call_id, started_at from (
             select call_id, started_at, fetched_at from warehouse.calls
             where deleted_at is null and started_at <= now() - age order by started_at desc limit ${maxSearched}) newest
           where fetched_at > accepted_at and fetched_at <= recognized_at order by started_at desc limit ${callsOfAge}) known
         group by call_id, started_at order by started_at desc) as calls,
       array(select line from warehouse.sms_lines where deleted_at is null and fetched_at > accepted_at) as lines,
       array(select user_id::text from warehouse.users where deleted_at is null and fetched_at > accepted_at) as users
     from account`,
  );
  if (!known) throw new Error('an aggregate gave no row');
  return known;
}

/** The result of one kind of evidence; undefined if one side has none, or the credential may not read it. */
type Vote = boolean | undefined;

const isForbidden = (error: unknown) =>
  error instanceof ServiceError && (error.advice === 'scope' || error.advice === 'permission');

/** The service answers only for calls of its account, so one answer is enough (section 4.6). */
async function knowsACall(reads: AccountReads, calls: readonly string[]): Promise<Vote> {
  for (const id of calls) {
    try {
      await reads.call(id);
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return calls.length === 0 ? undefined : false;
}

/** Half of the shorter list must be in the other: an account grows, shrinks, and ports numbers. */
function overlap(held: readonly string[], listed: readonly string[] | undefined): Vote {
  if (listed === undefined || listed.length === 0 || held.length === 0) return undefined;
  const answered = new Set(listed);
  const shared = held.filter((each) => answered.has(each)).length;
  return 2 * shared >= Math.min(held.length, answered.size);
}

/**
 * Undefined if the account that answers is the mirrored one, or if the mirror is empty; else the reason. If one
 * operation fails or hangs, the others decide. Rejects if none of them answers.
 */
async function compare(reads: AccountReads, known: Known): Promise<string | undefined> {
  let missing = 0;
  let failure: unknown;
  const answered = <T>(asked: Promise<T>): Promise<T | undefined> =>
    asked.catch((error: unknown) => {
      if (isNotFound(error)) missing += 1;
      else if (!isForbidden(error)) failure ??= error;
      return undefined;
    });
  const call = await answered(knowsACall(reads, known.calls));
  if (call === true) return undefined;
  const lines = await answered(reads.lines());
  const byLines = overlap(known.lines, lines);
  // Several lines can't all have been ported from another account.
  if (call === undefined && byLines && known.lines.length > 1 && (lines?.length ?? 0) > 1) return undefined;
  const users = await answered(reads.users());
  const byUsers = overlap(known.users, users);
  // In section 4, neither list has a 404: an address that answers 404 for both isn't that of the API.
  if (missing === 2)
    return 'API_BASE_URL does not lead to this API: it answers 404 for lines and users (requests add /api/public/v1 to it)';
  if (call === false) {
    return `another account answers than the mirrored one: it has none of ${known.calls.length} calls that are held`;
  }
  // The only line or user of a small account can be replaced.
  const votes: Vote[] = [
    known.lines.length > 1 ? byLines : byLines || undefined,
    known.users.length > 1 ? byUsers : byUsers || undefined,
  ];
  if (!votes.includes(false) && votes.includes(true)) return undefined;
  const holdsNone = known.lines.length + known.users.length === 0;
  const isAdopted = holdsNone && known.calls.length === 0 && (lines ?? users) !== undefined;
  if (failure !== undefined && !isAdopted) throw failure;
  if (holdsNone) return undefined;
  return 'another account answers than the mirrored one: it has not the lines and users that are held';
}

/**
 * Undefined if the account that answers is the mirrored one, or the mirror is empty; else the reason. Changes nothing.
 */
export async function compareAccount(db: Database, reads: AccountReads): Promise<string | undefined> {
  return compare(reads, await readKnown(db));
}

/**
 * Creates the check that recognizes the mirrored account. An empty mirror accepts any account. The mirror of our own
 * sandbox follows it after a reset (`isOwnSandbox`).
 */
export function createAccountCheck({
  db,
  log,
  isOwnSandbox = false,
}: {
  readonly db: Database;
  readonly log: Log;
  readonly isOwnSandbox?: boolean;
}): AccountCheck {
  /** The result of the last check: whether another account answered. */
  let wasOther: boolean | undefined;

  return async (reads) => {
    const known = await readKnown(db);
    const reason = await compare(reads, known);
    if (reason !== undefined && isOwnSandbox && known.isSandbox) {
      log.info({ reason }, 'The sandbox was reset: the mirror follows it');
      await acceptAccount(db, true);
      return undefined;
    }
    if (reason === undefined) {
      await recordRecognized(db, known.at, isOwnSandbox);
      if (wasOther === true) log.info('The account is recognized again: reading resumes');
    } else if (wasOther !== true) {
      log.error({ reason }, `Nothing is read, proven or sent: ${meaningOf({ code: 'account_unrecognized' }).remedy}`);
    }
    wasOther = reason !== undefined;
    return reason;
  };
}

async function recordRecognized(db: Database, at: Date, isSandbox: boolean): Promise<void> {
  await query(
    db,
    sql`insert into ops.account as a (recognized_at, is_sandbox) values (${at}, ${isSandbox})
     on conflict (is_only) do update set recognized_at = greatest(a.recognized_at, excluded.recognized_at)`,
  );
}

async function voidProofs(tx: Transaction): Promise<void> {
  await query(
    tx,
    sql`update ops.coverage set state = 'differs', proven_at = null, due_at = now(), attempts = 0, claimed_until = '-infinity',
       last_error = 'another account was accepted; it is compared again'
     where stream = 'calls' and checked_at is not null`,
  );
  await query(tx, sql`update ops.gaps set filled_at = null, next_try_at = now() where filled_at is not null`);
  await query(tx, sql`update ops.thread_candidates set probed_at = null`);
  await query(tx, sql`delete from ops.attribution_days`);
  await query(tx, sql`delete from warehouse.sms_unread_snapshots`);
}

/**
 * Accepts the account that answers now as the mirrored one. All of call history is compared again; calls that this
 * account doesn't have are marked deleted after three spaced reads.
 */
export async function acceptAccount(db: Database, isSandbox = false): Promise<void> {
  await retryDeadlock(() =>
    inTransaction(db, async (tx) => {
      await query(
        tx,
        sql`insert into ops.account as a (accepted_at, is_sandbox) values (now(), ${isSandbox})
         on conflict (is_only) do update set accepted_at = now(), is_sandbox = excluded.is_sandbox, recognized_at = null`,
      );
      await voidProofs(tx);
    }),
  );
}

/** Whether the mirror holds the data of the sandbox; undefined where it knows no account yet. */
export async function isOfSandbox(db: Database): Promise<boolean | undefined> {
  const [row] = await query(db, sql<{ isSandbox: boolean }>`select is_sandbox as "isSandbox" from ops.account`);
  return row?.isSandbox;
}
