import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { lockControl } from '../ledger/control.ts';
import { dropOthers } from '../ledger/plans.ts';
import { type RulesVersion, readInForce, readVersions } from '../ledger/rules-in-force.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { parseRules } from './file/parse.ts';
import { RulesError, type RulesProblem } from './file/problems.ts';
import type { RuleSet } from './rule.ts';
import { recordInForce } from './rule-events.ts';

/* ops.rule_versions: who changed the rules, when and why. The newest version is in force for all workers. */

/** Who changes the rules, and the reason that was given. */
export interface Change {
  readonly by: string;
  readonly why?: string | undefined;
  /** The version that the change is based on, 0 for none. Refused once another is in force. Default: any. */
  readonly basedOn?: number | undefined;
}

/** Another version came into force since the change was decided on. */
export class RulesChanged extends UserError {
  constructor({ version, by }: RulesVersion) {
    super(`Version ${version} came into force meanwhile, applied by ${by}. Nothing was changed: look at it first.`);
  }
}

/** The rules of a version. Throws a `RulesError` if this release doesn't understand them. */
function rulesOf({ version, text }: Pick<RulesVersion, 'version' | 'text'>, timeZone: string | undefined): RuleSet {
  return { ...parseRules(text, { file: `version ${version}`, timeZone }), version: String(version) };
}

export async function readRuleSet(
  db: Database | Transaction,
  timeZone: string | undefined,
): Promise<RuleSet | undefined> {
  const inForce = await readInForce(db);
  return inForce && rulesOf(inForce, timeZone);
}

/** Reads the rules in force, in the caller's transaction. Undefined if there are none that this release understands. */
export type RulesReader = (db: Database | Transaction) => Promise<RuleSet | undefined>;

/** Parses each version once. Compares more than its number, which can repeat after the database went back in time. */
export function createRulesReader(timeZone: string | undefined, log: Log): RulesReader {
  let known: { readonly of: string; readonly set: RuleSet | undefined } | undefined;
  return async (db) => {
    const inForce = await readInForce(db);
    const of = inForce && JSON.stringify([inForce.version, inForce.text]);
    if (inForce && of !== undefined && of !== known?.of) {
      const { version } = inForce;
      known = { of, set: undefined };
      try {
        known = { of, set: rulesOf(inForce, timeZone) };
      } catch (err) {
        log.error({ err, version }, 'This release does not understand the rules in force: this process evaluates none');
      }
    }
    return inForce && known?.set;
  };
}

interface Checked {
  /** Why this release doesn't understand a text that was applied: its first error. */
  readonly problem: RulesProblem | undefined;
  /** The last date of the calendar whose dated holidays end first. */
  readonly lastHoliday: string | undefined;
}

let checked: (Checked & { readonly text: string }) | undefined;

/** What health checks ask about a text that was applied. The newest answer is cached. */
export function checkVersion({ version, text }: Pick<RulesVersion, 'version' | 'text'>): Checked {
  if (checked?.text !== text) {
    let problem: RulesProblem | undefined;
    let set: RuleSet | undefined;
    try {
      set = parseRules(text, { file: `version ${version}`, timeZone: undefined });
    } catch (error) {
      if (!(error instanceof RulesError)) throw error;
      [problem] = error.problems;
    }
    checked = { text, problem, lastHoliday: set?.datesEnd?.last };
  }
  return checked;
}

/** A version that came into force. */
interface Applied {
  readonly version: number;
  /** Live texts that wait. They keep the words of earlier versions. */
  readonly waiting: number;
}

interface ApplyOptions {
  /** The path as messages show it. */
  readonly file: string;
  /** Whether it is the text of RULES_FILE, which the next start then doesn't apply again. */
  readonly isRulesFile?: boolean;
}

/**
 * Makes a text the version in force for all workers. Running batches of rules and dispatches of sends end first; later
 * ones use it. A text that is already in force isn't a new version. Throws a `RulesError` if it has errors.
 */
export async function applyRules(
  db: Database,
  text: string,
  { file, isRulesFile, ...change }: Change & ApplyOptions,
): Promise<Applied & { readonly isNew: boolean }> {
  parseRules(text, { file, timeZone: anyZone });
  return whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    if (inForce?.text === text) {
      return { version: inForce.version, waiting: 0, isNew: false };
    }
    refuseIfChanged(inForce, change);
    const applied = await insertVersion(tx, {
      ...{ text, ...change },
      ...(isRulesFile && { fileHash: hash('sha256', text) }),
    });
    return { ...applied, isNew: true };
  });
}

/** Makes the text of an earlier version the one in force, as a new version. */
export function rollbackRules(
  db: Database,
  { to, ...change }: Change & { readonly to: number },
): Promise<{ readonly version: number; readonly from: number }> {
  return whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    refuseIfChanged(inForce, change);
    const [earlier] = await readVersions(tx, sql`version = ${to}`);
    if (!inForce || !earlier) throw new UserError(`There is no version ${to} that was in force.`);
    const { version } = await insertVersion(tx, {
      ...{ text: earlier.text, by: change.by },
      why: change.why ?? `back to version ${earlier.version}`,
    });
    return { version, from: earlier.version };
  });
}

/**
 * Applies RULES_FILE if it changed since it was last applied; otherwise a version that was applied by hand stays. A
 * file with errors changes nothing, and its problem is returned. A missing file is a problem only while no rules are in
 * force.
 */
export async function applyRulesFile(
  db: Database,
  { rulesFile }: { readonly rulesFile: string },
  log: Log,
): Promise<RulesError | undefined> {
  const inForce = await readInForce(db);
  const effect = inForce ? 'the rules applied before stay in force' : 'no rules are in force. Mirroring goes on';
  const text = await readFile(rulesFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = `${rulesFile} cannot be read (${error.code}). Set RULES_FILE, or create it.`;
    if (!inForce) log.error({ problem }, `RULES_FILE is missing: ${effect}`);
    return undefined;
  });
  if (text === undefined) return undefined;
  try {
    const { warnings } = parseRules(text, { file: rulesFile, timeZone: anyZone });
    if (!(await applyIfChanged(db, text))) return undefined;
    for (const { line, column, message, remedy } of warnings) {
      log.warn({ place: `${rulesFile}:${line}:${column}`, remedy }, `The rules file: ${message}`);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    log.error({ problem: error.message }, `RULES_FILE has an error: ${effect}`);
    return error;
  }
}

function applyIfChanged(db: Database, text: string): Promise<boolean> {
  const fileHash = hash('sha256', text);
  return whileStill(db, async (tx) => {
    const [last] = await query<{ hash: string }>(
      tx,
      sql`select file_hash as hash from ops.rule_versions where file_hash is not null order by version desc limit 1`,
    );
    if (last?.hash === fileHash || (await readInForce(tx))?.text === text) return false;
    await insertVersion(tx, { text, by: 'RULES_FILE', fileHash });
    return true;
  });
}

function refuseIfChanged(inForce: RulesVersion | undefined, { basedOn }: Change): void {
  if (inForce && basedOn !== undefined && inForce.version !== basedOn) throw new RulesChanged(inForce);
}

/** Runs a change of the rules while no batch of rules is evaluated and no send is dispatched. */
function whileStill<T>(db: Database, change: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await takeLock(tx, 'rule_events');
    await lockControl(tx);
    return change(tx);
  });
}

interface NewVersion extends Change {
  readonly text: string;
  readonly fileHash?: string;
}

/** The stored columns of a version depend on its text alone, not on the TIME_ZONE or RULES_MODE of this process. */
const anyZone = 'UTC';

/** Throws a `RulesError` if the text has errors. */
async function insertVersion(tx: Transaction, { text, by, why, fileHash }: NewVersion): Promise<Applied> {
  const [newest] = await query<{ version: number }>(
    tx,
    sql`select coalesce(max(version), 0) as version from ops.rule_versions`,
  );
  const version = (newest?.version ?? 0) + 1;
  const set = rulesOf({ version, text }, anyZone);
  const rules = set.rules.map((rule) => ({
    name: rule.name,
    on: rule.on,
    mode: rule.mode,
    usesHours: rule.hoursAt !== undefined,
  }));
  await query(
    tx,
    sql`insert into ops.rule_versions (version, body, applied_by, why, file_hash, rules, limits, since)
      values (${version}, ${text}, ${by}, ${why ?? null}, ${fileHash ?? null},
        ${JSON.stringify(rules)}, ${JSON.stringify(set.accountLimits)},
        coalesce((select since from ops.rule_versions order by version desc limit 1), '{}'))`,
  );
  await recordInForce(tx, set);
  return { version, waiting: await dropOthers(tx, set.rules) };
}
