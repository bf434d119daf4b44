import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { createDatabase, type Database, sql } from '../db/database.ts';
import { readAllowedMode, readInForce, readVersions } from '../ledger/rules-in-force.ts';
import { formats } from '../rules/conditions/expressions.ts';
import {
  type Declared,
  declaredFacts,
  type FactGroup,
  groupsOf,
  nowFact,
  triggersWith,
} from '../rules/facts/declared.ts';
import { parseRules } from '../rules/file/parse.ts';
import { RulesError, type RulesProblem, renderProblem } from '../rules/file/problems.ts';
import { priceWords, type RulesRemarks, remarksOn } from '../rules/file/remarks.ts';
import type { RuleSet } from '../rules/rule.ts';
import { simulate, simulationLimits } from '../rules/simulate/simulate.ts';
import { triggerKinds } from '../rules/triggers.ts';
import { applyRules } from '../rules/versions.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { countOf, dollars, toTheSecond } from '../shared/format.ts';
import { dayMs } from '../shared/time-range.ts';
import { type RangeFlags, rangeOf } from './arguments.ts';
import { commandSettings, openDatabase } from './environment.ts';
import { type Output, tableOf } from './output.ts';
import { createCommandLog, createProgress, operatorName } from './terminal.ts';

/** Checks a rules file. Exit code 1 for an error or a warning. */
export async function checkRules(path: string | undefined): Promise<Output> {
  const settings = await commandSettings();
  const { rulesFile, hoursZone } = settings;
  const file = path ?? rulesFile;
  const loaded = await load(file, hoursZone).catch((error: unknown) => {
    if (error instanceof RulesError) return error;
    throw error;
  });
  if (loaded instanceof RulesError) return { json: { file, problems: loaded.problems }, failed: loaded };
  const { text, set } = loaded;
  const { warnings, notices, replies } = await printWarnings(file, text, set, settings);
  const { version, rules } = set;
  const verdict = warnings.length > 0 ? `can be used, but see ${countOf(warnings.length, 'warning')}` : 'is valid';
  const prices = replies.map((each) => `\n  ${priceWords(each)}`).join('');
  return {
    json: { file, version, rules: rules.length, problems: [], warnings, notices, replies },
    text: `${file} ${verdict}: ${countOf(rules.length, 'rule')}.${prices}`,
    failed: warnings.length > 0,
  };
}

/** The rules of a file, and its text. Rejects with a `RulesError` if it has errors. */
async function load(file: string, timeZone: string | undefined) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UserError(
      `The rules file ${file} can’t be read (${error.code}): a command names it, or else RULES_FILE.`,
    );
  });
  return { text, set: parseRules(text, { file, timeZone }) };
}

type CheckSettings = Pick<Settings, 'rulesMode' | 'hoursZone' | 'databaseUrl' | 'notify'>;

/** Prints what is valid but probably not meant. */
async function printWarnings(file: string, text: string, set: RuleSet, settings: CheckSettings): Promise<RulesRemarks> {
  const remarks = await readRemarks(set, settings);
  const print = (level: string, { message, ...rest }: RulesProblem) =>
    console.error(`${renderProblem(file, text, { ...rest, message: `${level}: ${message}` })}\n`);
  for (const each of remarks.warnings) print('warning', each);
  for (const each of remarks.notices) print('notice', each);
  return remarks;
}

async function readRemarks(set: RuleSet, settings: CheckSettings): Promise<RulesRemarks> {
  if (settings.databaseUrl === undefined) return remarksOn(set, undefined, settings);
  try {
    const log = createCommandLog();
    await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'rules' });
    return await remarksOn(set, database.db, settings);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Users and lines were not checked against the account: ${reason}`);
    return remarksOn(set, undefined, settings);
  }
}

/** Makes a file the version in force. */
export async function applyFile(
  file: string,
  { by = operatorName(), why }: { by?: string; why?: string },
): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db, settings } = database;
  const { text, set } = await load(file, settings.hoursZone);
  const isRulesFile = resolve(file) === resolve(settings.rulesFile);
  const { isNew, waiting } = await applyRules(db, text, { file, isRulesFile, by, why });
  await printWarnings(file, text, set, settings);
  const { inForce, allowed, words } = await readStanding(db, settings);
  const remarks = [
    !isNew && `${file} was in force already.`,
    isNew && waiting > 0 && `Texts of earlier versions that wait: ${waiting}. They leave with the words of then.`,
    words,
  ];
  const { version, appliedAt } = inForce ?? {};
  return {
    json: { version, allowed, appliedAt, by: inForce?.by, why: inForce?.why, isNew, waiting },
    text: remarks.filter((each) => each !== false).join(' '),
  };
}

/** Which version is in force, and what it may do; `words` say both in a sentence. */
export async function readStanding(db: Database, { rulesMode, timeZone }: Pick<Settings, 'rulesMode' | 'timeZone'>) {
  const inForce = await readInForce(db);
  const allowed = (await readAllowedMode(db)) ?? rulesMode;
  if (!inForce) return { inForce, allowed, words: 'No rules are in force: apply a file with rules apply.' };
  const { version, appliedAt, by, why } = inForce;
  const reason = why === null ? '' : `: ${why}`;
  const words = `Version ${version} is in force, applied ${toTheSecond(appliedAt, timeZone)} by ${by}${reason}. RULES_MODE is ${allowed}.`;
  return { inForce, allowed, words };
}

/** The text of a version; by default of the one in force. */
export async function showRules(version: string | undefined): Promise<Output> {
  if (version !== undefined && !/^[1-9]\d{0,8}$/.test(version)) throw new WrongUse('A version is a whole number.');
  await using database = await openDatabase('rules');
  const [found] = await readVersions(database.db, version === undefined ? undefined : sql`version = ${version}`);
  if (found) return { json: found, text: found.text.trimEnd() };
  throw new UserError(
    version === undefined
      ? `No rules are in force: apply a file with ${toType('rules apply')}.`
      : `There is no version ${version} of the rules: ${toType('list rules/history')} shows all.`,
  );
}

/** What conditions and texts can use; with a trigger, in its rules. */
export function listFacts(trigger: string | undefined): Output {
  const on = triggerKinds.find((kind) => kind === trigger);
  if (trigger !== undefined && !on) throw new WrongUse(`"${trigger}" is not one of ${triggerKinds.join(', ')}.`);
  const groups = (Object.keys(declaredFacts) as FactGroup[]).filter((group) => !on || groupsOf[on].includes(group));
  const facts = [
    { fact: 'now', ...nowFact, triggers: triggerKinds },
    ...groups.flatMap((group) =>
      Object.entries<Declared>(declaredFacts[group]).map(([name, declared]) => ({
        ...declared,
        fact: `${group}.${name}`,
        triggers: triggersWith(group),
      })),
    ),
  ].map(({ doc, isPrivate: _, isOptional = false, ...rest }) => ({ ...rest, isOptional, meaning: doc }));
  const remarks = [
    'Types are those of CEL: compare an int with a number, a timestamp with now - duration("2h").',
    'Where a fact is missing that a condition needs, the condition is false; has(…) asks for it.',
    '--json has an example of each, and the triggers whose rules have it.',
  ];
  return tableOf(
    facts,
    [
      ['fact', ({ fact }) => fact],
      ['type', ({ type, isOptional }) => (isOptional ? `${type}, can be missing` : type)],
      [
        'meaning',
        ({ meaning, values, format }) =>
          `${meaning}${values ? ` One of ${values.join(', ')}.` : ''}${format ? ` Written as ${formats[format].form}.` : ''}`,
      ],
    ],
    ...remarks,
  );
}

const defaultSpanMs = 7 * dayMs;

/** What the rules would have done in a range, in a line for each rule; `--json` has each day, why not, and examples. */
export async function simulateRules({ file: named, ...given }: RangeFlags & { file?: string }): Promise<Output> {
  const { from, to } = rangeOf(given, defaultSpanMs);
  await using database = await openDatabase('rules');
  const { rulesFile, timeZone, hoursZone } = database.settings;
  const inForce = named === undefined ? await readInForce(database.db) : undefined;
  const file = inForce ? `version ${inForce.version}` : (named ?? rulesFile);
  const set = inForce ? parseRules(inForce.text, { file, timeZone: hoursZone }) : (await load(file, hoursZone)).set;
  const progress = createProgress('triggers');
  const onProgress = (done: number, of: number) => progress(done / of, done);
  const report = await simulate(database.db, { set, from, to, onProgress });
  const { matched, messages, segments, micros } = report;
  const table = tableOf(
    report.rules,
    [
      ['rule', ({ rule }) => rule],
      ['tried', ({ tried }) => tried],
      ['matched', (each) => each.matched],
      ['texts', (each) => each.messages],
      ['segments', (each) => each.segments],
      ['at most', (each) => dollars(each.micros)],
      ['blocked', ({ blocked }) => counted(blocked)],
      ['steps', ({ actions }) => counted(actions)],
    ],
    `${toTheSecond(from, timeZone)} to ${toTheSecond(to, timeZone)}: ${countOf(matched, 'match')}, ${countOf(messages, 'text')} in ${countOf(segments, 'segment')}, at most ${dollars(micros)}. Nothing was sent or written.`,
    `Simulated with ${file}${inForce ? ', which is in force' : ''}, in the time zone ${timeZone}. The page /rules/edit shows examples.`,
    simulationLimits,
  );
  return { ...table, json: { ...report, ...(inForce ? { version: inForce.version } : { file }), timeZone } };
}

/** `3 quiet_hours, 1 opted_out`: the most first. */
function counted(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${count} ${name.replace(/^gate:/, '')}`).join(', ');
}
