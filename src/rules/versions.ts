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
import { lesserMode, type Mode, type RuleSet } from './rule.ts';
import { recordInForce } from './rule-events.ts';

/* ops.rule_versions: who changed the rules, when and why. The newest version that was not refused is in force for all workers. */

/** Who changes the rules, and the reason that was given. */
export interface Change {
  readonly by: string;
  readonly why?: string | undefined;
  /** The version that it was decided on, 0 for none. The change is refused once another one is in force. Default: any. */
  readonly basedOn?: number | undefined;
}

/** Another version came into force since the change was decided on. */
export class RulesChanged extends UserError {
  constructor({ version, by }: RulesVersion) {
    super(`Version ${version} came into force meanwhile, applied by ${by}. Nothing was changed: look at it first.`);
  }
}

/** The rules of a version, with the modes that it allows. Throws a `RulesError` if this release does not understand them. */
function rulesOf(
  { version, text, mode }: Pick<RulesVersion, 'version' | 'text' | 'mode'>,
  timeZone: string | undefined,
): RuleSet {
  const set = parseRules(text, { file: `version ${version}`, timeZone });
  const rules = set.rules.map((rule) => ({ ...rule, mode: lesserMode(rule.mode, mode) }));
  return { ...set, version: String(version), rules };
}

export async function readRuleSet(
  db: Database | Transaction,
  timeZone: string | undefined,
): Promise<RuleSet | undefined> {
  const inForce = await readInForce(db);
  return inForce && rulesOf(inForce, timeZone);
}

/** Reads the rules in force in the caller's transaction. Undefined while there are none that this release understands. */
export type RulesReader = (db: Database | Transaction) => Promise<RuleSet | undefined>;

/** Parses each version once. Its number is not enough: once the database went back in time, another version can have it. */
export function createRulesReader(timeZone: string | undefined, log: Log): RulesReader {
  let known: { readonly of: string; readonly set: RuleSet | undefined } | undefined;
  return async (db) => {
    const inForce = await readInForce(db);
    const of = inForce && JSON.stringify([inForce.version, inForce.mode, inForce.text]);
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
  /** Why this release does not understand a text that was applied: the first error. */
  readonly problem: RulesProblem | undefined;
  /** The last date of the calendar whose dated holidays end first. */
  readonly lastHoliday: string | undefined;
}

let checked: (Checked & { readonly text: string }) | undefined;

/** What health checks ask of a text that was applied. The newest answer is cached. */
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
  /** Live texts that wait, and leave with the words of earlier versions. */
  readonly waiting: number;
}

interface ApplyOptions {
  /** The path as messages show it. */
  readonly file: string;
  /** Whether it is the text of RULES_FILE, which a start then does not apply again. */
  readonly isRulesFile?: boolean;
}

/**
 * Makes a text the version in force for all workers: batches of rules and dispatches of sends that are under way end first, and
 * later ones use it. A text that is in force already is no new version. Throws a `RulesError` if it has errors.
 */
export async function applyRules(
  db: Database,
  text: string,
  { file, isRulesFile, ...change }: Change & ApplyOptions,
): Promise<Applied & { readonly isNew: boolean }> {
  parseRules(text, { file, timeZone: anyZone });
  return whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    const [newest] = await readVersions(tx, sql`true`);
    // After a refused file, a new version says that it is mended.
    if (inForce?.text === text && newest?.problem === null) {
      return { version: inForce.version, waiting: 0, isNew: false };
    }
    refuseIfChanged(inForce, change);
    const applied = await insertVersion(tx, {
      ...{ text, mode: inForce?.mode ?? 'live', ...change },
      ...(isRulesFile && { fileHash: hash('sha256', text) }),
    });
    return { ...applied, isNew: true };
  });
}

/** Makes the text of an earlier version the one in force; by default the newest one with another text. */
export function rollbackRules(
  db: Database,
  { to, ...change }: Change & { readonly to?: number | undefined },
): Promise<{ readonly version: number; readonly from: number }> {
  return whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    refuseIfChanged(inForce, change);
    const wanted = to === undefined ? sql`body <> ${inForce?.text ?? ''}` : sql`version = ${to}`;
    const [earlier] = await readVersions(tx, sql`problem is null and ${wanted}`);
    if (!inForce || !earlier)
      throw new UserError(`There is no ${to === undefined ? 'earlier version' : `version ${to} that was in force`}.`);
    const { version } = await insertVersion(tx, {
      ...{ text: earlier.text, mode: inForce.mode, by: change.by },
      why: change.why ?? `back to version ${earlier.version}`,
    });
    return { version, from: earlier.version };
  });
}

/** Changes the most that all rules may do. RULES_MODE of the workers limits it. */
export function setRulesMode(db: Database, mode: Mode, change: Change): Promise<{ readonly version: number }> {
  return whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    if (!inForce) throw new UserError('No rules were applied yet.');
    refuseIfChanged(inForce, change);
    if (inForce.mode === mode) return { version: inForce.version };
    return insertVersion(tx, { text: inForce.text, mode, ...change });
  });
}

/**
 * Applies RULES_FILE if it changed since it was last applied; what was applied by hand stays otherwise. A file that cannot be
 * used is recorded with its problem, and changes nothing. That it is missing is a problem only while no rules are in force.
 */
export async function applyRulesFile(
  db: Database,
  { rulesFile }: { readonly rulesFile: string },
  log: Log,
): Promise<void> {
  let text: string | undefined;
  let problem: string | undefined;
  let warnings: RuleSet['warnings'] = [];
  try {
    text = await readFile(rulesFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new Error(`${rulesFile} cannot be read (${error.code}). Set RULES_FILE, or create it.`);
    });
    ({ warnings } = parseRules(text, { file: rulesFile, timeZone: anyZone }));
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  const isMissing = text === undefined;
  const fileHash = hash('sha256', text ?? '');
  const applied = await whileStill(db, async (tx) => {
    const inForce = await readInForce(tx);
    const [last] = await query<{ hash: string; problem: string | null }>(
      tx,
      sql`select file_hash as hash, problem from ops.rule_versions where file_hash is not null order by version desc limit 1`,
    );
    const isSame = last?.hash === fileHash && (last.problem === null || last.problem === problem);
    if (isSame || (isMissing && inForce) || (inForce?.text === text && last?.problem === null))
      return { inForce, version: undefined };
    const change = { text: text ?? '', mode: inForce?.mode ?? 'live', by: 'RULES_FILE', fileHash, problem };
    return { inForce, ...(await insertVersion(tx, change)) };
  });
  if (problem !== undefined) {
    const effect = applied.inForce
      ? 'RULES_FILE has an error; the rules applied before stay in force'
      : 'No rules are in force: the rules file cannot be used. Mirroring goes on';
    log.error({ problem }, effect);
  } else if (applied.version !== undefined) {
    for (const { line, column, message, remedy } of warnings) {
      log.warn({ place: `${rulesFile}:${line}:${column}`, remedy }, `The rules file: ${message}`);
    }
  }
}

function refuseIfChanged(inForce: RulesVersion | undefined, { basedOn }: Change): void {
  if (inForce && basedOn !== undefined && inForce.version !== basedOn) throw new RulesChanged(inForce);
}

/** Runs a change of the rules while no batch of rules is evaluated and no send is being dispatched. */
function whileStill<T>(db: Database, change: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await takeLock(tx, 'rule_events');
    await lockControl(tx);
    return change(tx);
  });
}

interface NewVersion extends Change {
  readonly text: string;
  readonly mode: Mode;
  readonly fileHash?: string;
  /** Why it is refused. */
  readonly problem?: string | undefined;
}

/** What is stored of a version depends on its text alone, and not on TIME_ZONE or RULES_MODE of who applies it. */
const anyZone = 'UTC';

/** Throws a `RulesError` if the text has errors, unless it is refused. */
async function insertVersion(
  tx: Transaction,
  { text, mode, by, why, fileHash, problem }: NewVersion,
): Promise<Applied> {
  const [newest] = await query<{ version: number }>(
    tx,
    sql`select coalesce(max(version), 0) as version from ops.rule_versions`,
  );
  const version = (newest?.version ?? 0) + 1;
  const set = problem === undefined ? rulesOf({ version, text, mode }, anyZone) : undefined;
  const rules = set?.rules.map((rule) => ({
    name: rule.name,
    on: rule.on,
    mode: rule.mode,
    usesHours: rule.hoursAt !== undefined,
  }));
  await query(
    tx,
    sql`insert into ops.rule_versions (version, body, mode, applied_by, why, file_hash, problem, rules, limits, since)
      values (${version}, ${text}, ${mode}, ${by}, ${why ?? null}, ${fileHash ?? null}, ${problem ?? null},
        ${JSON.stringify(rules ?? [])}, ${JSON.stringify(set?.accountLimits ?? {})},
        coalesce((select since from ops.rule_versions where problem is null order by version desc limit 1), '{}'))`,
  );
  if (!set) return { version, waiting: 0 };
  await recordInForce(tx, set);
  const active = set.rules.filter((rule) => rule.mode !== 'off');
  const waiting = await dropOthers(
    tx,
    active.map(({ name }) => name),
  );
  return { version, waiting };
}
