import { limitReached } from '../../postgres/limits.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { isMigrated } from '../../warehouse/migrate.ts';
import { readConnections } from '../processes.ts';
import { type Finding, findingsOn, messageOf } from './finding.ts';

const on = findingsOn('Postgres');
const oldestVersion = 150_000;
const mostSkewSeconds = 2;
/** A pooler that has several servers to lend may lend the same one twice. */
const turns = 4;

interface Server {
  number: number;
  version: string;
  commits: string;
  fsync: string;
  readOnly: boolean;
  now: Date;
  jit: boolean;
}

/** Examines the server. Never rejects; a server that cannot be reached is the only finding then. */
export async function examinePostgres(db: Database, poolSize: number): Promise<Finding[]> {
  const began = Date.now();
  let server: Server | undefined;
  let answering: Answering;
  try {
    [server] = await query<Server>(
      db,
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
         current_setting('synchronous_commit') as commits, current_setting('fsync') as fsync,
         pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "readOnly",
         clock_timestamp() as now, current_setting('jit')::boolean and pg_jit_available() as jit`,
      [],
    );
    answering = await askInTurns(db);
  } catch (error) {
    const limit = limitReached(error);
    if (limit) return [on.problem(limit.sentence, limit.remedy)];
    return [
      on.problem(
        `Postgres cannot be reached: ${messageOf(error)}.`,
        'See that it runs, and that the host, user, password and database of DATABASE_URL are right.',
      ),
    ];
  }
  if (!server) return [];
  const skew = (server.now.getTime() - (began + Date.now()) / 2) / 1_000;
  return [
    versionOf(server),
    sessionsOf(answering),
    await schemaOf(db),
    durabilityOf(server),
    clockOf(skew),
    await budgetOf(db, poolSize),
    ...(server.jit ? [jitIsOn] : []),
  ];
}

/** Which server process answered each of the statements that two connections, open at once, asked in turns. */
export interface Answering {
  readonly first: readonly number[];
  readonly second: readonly number[];
}

/** Whether a pooler lends server processes out by the transaction: a connection of its own always asks the same one. */
export function isLent({ first, second }: Answering): boolean {
  return new Set(first).size > 1 || new Set(second).size > 1 || first.some((pid) => second.includes(pid));
}

function askInTurns(db: Database): Promise<Answering> {
  const pidOf = async (connection: Database) => {
    const [row] = await query<{ pid: number }>(connection, 'select pg_backend_pid() as pid', []);
    return row?.pid ?? Number.NaN;
  };
  return db.connection().execute((one) =>
    db.connection().execute(async (other) => {
      const [first, second]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < turns; turn += 1) {
        first.push(await pidOf(one));
        second.push(await pidOf(other));
      }
      return { first, second };
    }),
  );
}

function sessionsOf(answering: Answering): Finding {
  if (!isLent(answering)) return on.ok('Each connection has a session of its own.');
  return on.problem(
    'DATABASE_URL leads through a pooler that lends sessions out by the transaction, and what is prepared in one is lost.',
    'Name Postgres itself, or a pool in session mode, which many hosts offer under another port or name.',
  );
}

function versionOf({ number, version, readOnly }: Server): Finding {
  if (number < oldestVersion) return on.problem(`Postgres ${version} is too old.`, 'Use Postgres 15 or newer.');
  if (readOnly)
    return on.problem('Postgres takes no writes: it is a standby or read-only.', 'Name the primary in DATABASE_URL.');
  return on.ok(`Postgres ${version} answers.`);
}

const jitIsOn = on.warning(
  'Postgres compiles statements (jit is on) although our sessions switch that off, and a change may take seconds.',
  'Run `alter role … set jit = off` for the user of DATABASE_URL.',
);

async function schemaOf(db: Database): Promise<Finding> {
  try {
    if (await isMigrated(db)) return on.ok('The schema has all migrations of this release.');
    return on.problem('The schema lacks migrations of this release.', 'Run `trunkline migrate`.');
  } catch (error) {
    return on.problem(
      `The schema cannot be read: ${messageOf(error)}.`,
      'Give the user of DATABASE_URL the schema ops.',
    );
  }
}

function durabilityOf({ commits, fsync }: Server): Finding {
  if (fsync === 'off')
    return on.problem('A crash of the machine can destroy the database (fsync is off).', 'Set fsync to on.');
  if (commits === 'off') {
    return on.problem(
      'A crash can lose deliveries that were answered 202 (synchronous_commit is off).',
      'Set synchronous_commit to on for the user of DATABASE_URL.',
    );
  }
  return on.ok(`Commits are durable (synchronous_commit is ${commits}).`);
}

function clockOf(skewSeconds: number): Finding {
  const skew = Math.abs(skewSeconds);
  if (skew <= mostSkewSeconds) return on.ok('The clocks of Postgres and of this machine agree.');
  return on.warning(
    `The clock of Postgres is ${skew.toFixed(1)} s ${skewSeconds > 0 ? 'ahead of' : 'behind'} this machine’s.`,
    'Keep both in time with NTP; looks for late recordings shift by the difference.',
  );
}

async function budgetOf(db: Database, poolSize: number): Promise<Finding> {
  try {
    const { sentence, remedy, isTooMuch } = await readConnections(db, poolSize);
    if (remedy === undefined) return on.ok(sentence);
    return isTooMuch ? on.problem(sentence, remedy) : on.warning(sentence, remedy);
  } catch (error) {
    return on.warning(
      `The limits on connections cannot be read: ${messageOf(error)}.`,
      'Run `trunkline doctor` again.',
    );
  }
}
