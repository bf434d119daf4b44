import { readFile } from 'node:fs/promises';
import type { Settings } from '../../config/settings.ts';
import { createDatabase, query, sql } from '../db/database.ts';
import { type RulesVersion, readAllowedMode, readInForce } from '../ledger/rules-in-force.ts';
import { readRuleCounts } from '../reporting/outcomes.ts';
import { retryTelling } from '../rules/actions/tell.ts';
import { formats } from '../rules/conditions/expressions.ts';
import {
  type Choice,
  type ExplainedCall,
  type ExplainedText,
  type Explanation,
  explain,
  outcomeWords,
  type RuleExplanation,
  replyWords,
} from '../rules/explain.ts';
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
import { durationOf } from '../rules/file/schema.ts';
import { heldBackWords, lesserMode, type Mode, type RuleSet, stepName } from '../rules/rule.ts';
import type { Report, RuleReport } from '../rules/simulate/report.ts';
import { simulate, simulationLimits } from '../rules/simulate/simulate.ts';
import { type TriggerKind, triggerKinds } from '../rules/triggers.ts';
import { readRuleSet } from '../rules/versions.ts';
import { UserError } from '../shared/errors.ts';
import { countOf, dollars, toTheSecond } from '../shared/format.ts';
import { threadOf, typedThreadKey } from '../shared/thread.ts';
import { type RangeFlags, rangeOf } from './arguments.ts';
import { commandSettings, openDatabase } from './environment.ts';
import { type Column, type Output, renderColumns, tableOf } from './output.ts';
import { createCommandLog, createProgress } from './terminal.ts';

/** Checks a rules file. Exit code 1 for an error or a warning. */
export async function checkRules(path: string | undefined): Promise<Output> {
  const settings = await commandSettings({ isLikeDaemon: true });
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
  return {
    json: { file, version, rules: rules.length, problems: [], warnings, notices, replies },
    text: [
      `${file} ${verdict}: ${countOf(rules.length, 'rule')}.`,
      ...replies.map((each) => `  ${priceWords(each)}`),
    ].join('\n'),
    failed: warnings.length > 0,
  };
}

type CheckSettings = Pick<Settings, 'rulesMode' | 'hoursZone' | 'databaseUrl' | 'notify'>;

/** Prints what is valid but probably not meant. */
export async function printWarnings(
  file: string,
  text: string,
  set: RuleSet,
  settings: CheckSettings,
): Promise<RulesRemarks> {
  const remarks = await readRemarks(set, settings);
  const { warnings, notices } = remarks;
  const print = (level: string, { message, ...rest }: RulesProblem) =>
    console.error(`${renderProblem(file, text, { ...rest, message: `${level}: ${message}` })}\n`);
  for (const each of warnings) print('warning', each);
  for (const each of notices) print('notice', each);
  return remarks;
}

async function readRemarks(set: RuleSet, settings: CheckSettings): Promise<RulesRemarks> {
  if (settings.databaseUrl === undefined) return remarksOn(set, undefined, settings);
  try {
    const log = createCommandLog();
    await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'rules' });
    return await remarksOn(set, database.db, settings);
  } catch (error) {
    console.error(
      `Users and lines were not checked against the account: ${error instanceof Error ? error.message : String(error)}`,
    );
    return remarksOn(set, undefined, settings);
  }
}

export async function listRules(): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db, settings } = database;
  const { timeZone, hoursZone } = settings;
  const inForce = await readInForce(db);
  const allowed = (await readAllowedMode(db)) ?? settings.rulesMode;
  const set = await readRuleSet(db, hoursZone);
  const counts = await readRuleCounts(db, 'ever');
  const matches = await query<{ rule: string; lastAt: Date }>(
    db,
    sql`select rule, max(trigger_at) as "lastAt" from ops.rule_runs where is_matched group by rule`,
  );
  const rows = (set?.rules ?? []).map((rule) => {
    const { tried = 0, matched = 0 } = counts.find((each) => each.rule === rule.name) ?? {};
    const { lastAt = null } = matches.find((each) => each.rule === rule.name) ?? {};
    const mode = lesserMode(rule.mode, allowed);
    const { name, on, idle, afterSeconds, steps, heldBack } = rule;
    const after = afterSeconds && durationOf(afterSeconds);
    const idleFor = idle && `${durationOf(idle.seconds)}${idle.isBusiness ? ' of business' : ''}`;
    return { rule: name, on, for: idleFor, after, does: steps.map(stepName), mode, heldBack, tried, matched, lastAt };
  });
  const columns: Column<(typeof rows)[number]>[] = [
    ['rule', ({ rule }) => rule],
    ['on', ({ on, for: idle, after }) => `${on}${idle ? ` for ${idle}` : ''}${after ? ` after ${after}` : ''}`],
    ['does', ({ does }) => does.join(', ')],
    ['mode', ({ mode, heldBack }) => (heldBack ? `${mode} (${heldBack})` : mode)],
    ['tried', ({ tried }) => tried],
    ['matched', ({ matched }) => matched],
    ['last', ({ lastAt }) => lastAt],
  ];
  return tableOf(rows, columns, { timeZone, remarks: [describeVersion(inForce, allowed, timeZone)] });
}

/** Makes failed steps that tell targets due again. Exit code 1 if there is none. */
export async function retrySteps(runIds: readonly string[], { to }: { to?: string }): Promise<Output> {
  const wrong = runIds.find((id) => !/^\d{1,18}$/.test(id));
  if (wrong !== undefined) throw new UserError(`${wrong} is no run: see the column run_id of the page /rules.`);
  await using database = await openDatabase('rules');
  const count = await retryTelling(database.db, to === undefined ? { runIds } : { target: to });
  const none = 'No failed notify or webhook step was found.';
  return {
    json: { retried: count },
    text:
      count === 0 ? undefined : count === 1 ? 'One step is performed again.' : `${count} steps are performed again.`,
    failed: count === 0 && new UserError(none),
  };
}

/** Which version is in force, and what it may do. */
export function describeVersion(inForce: RulesVersion | undefined, allowed: Mode, timeZone: string): string {
  if (!inForce) return 'No rules are in force: apply a file with rules apply.';
  const { version, appliedAt, by, why } = inForce;
  const reason = why === null ? '' : `: ${why}`;
  return `Version ${version} is in force, applied ${toTheSecond(appliedAt, timeZone)} by ${by}${reason}. RULES_MODE is ${allowed}.`;
}

export async function listFacts(on: TriggerKind | undefined): Promise<Output> {
  const groups = (Object.keys(declaredFacts) as FactGroup[]).filter((group) => !on || groupsOf[on].includes(group));
  const facts = [
    describedFact('now', nowFact, triggerKinds),
    ...groups.flatMap((group) =>
      Object.entries<Declared>(declaredFacts[group]).map(([name, declared]) =>
        describedFact(`${group}.${name}`, declared, triggersWith(group)),
      ),
    ),
  ];
  const lines = [...Map.groupBy(facts, (each) => each.triggers.join(', '))].flatMap(([triggers, some]) => [
    some[0]?.triggers.length === triggerKinds.length ? 'In every rule:' : `In rules on ${triggers}:`,
    ...some.flatMap(({ fact, type, isOptional, meaning, values, format, example }) => {
      const forms = `${values ? ` One of ${values.map(printable).join(', ')}.` : ''}${format ? ` Written as ${formats[format].form}.` : ''}`;
      return [
        `  ${fact}  ${type}${isOptional ? ', can be missing' : ''}`,
        `      ${meaning}${forms} Example: ${printable(example)}`,
      ];
    }),
    '',
  ]);
  lines.push(
    'Types are those of CEL: compare an int with a number, a timestamp with now - duration("2h").',
    'Where a fact is missing that a condition needs, the condition is false; has(…) asks for it.',
  );
  return { json: facts, text: lines.join('\n') };
}

function describedFact(
  fact: string,
  { doc, isPrivate: _, isOptional, ...declared }: Declared,
  triggers: readonly TriggerKind[],
) {
  return { fact, meaning: doc, isOptional: isOptional === true, ...declared, triggers };
}

const maxLength = 200;

/** A value for the terminal: on one line, shortened. */
function printable(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string') return JSON.stringify(value);
  return JSON.stringify(value.length > maxLength ? `${value.slice(0, maxLength)}…` : value);
}

export async function explainRules(which: string): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db, settings } = database;
  const { timeZone, hoursZone } = settings;
  const choice = choiceOf(which);
  const inForce = await readInForce(db);
  const set = await readRuleSet(db, hoursZone);
  const mode = (await readAllowedMode(db)) ?? settings.rulesMode;
  if (!set) throw new UserError(describeVersion(inForce, mode, timeZone));
  const explanation = await explain(db, set, choice, mode);
  if (!explanation) throw new UserError(`The mirror has ${nothingOf(choice)}.`);
  const { message, call, rules } = explanation;
  const of = message && call ? 'this text or call' : message ? 'a text' : 'this call';
  const lines = [
    ...headOf(explanation, timeZone),
    ...rules.flatMap((rule) => ['', ...renderExplanation(rule, { maxMode: mode, timeZone, of })]),
    `\nEvaluated with the data known then. ${describeVersion(inForce, mode, timeZone)}`,
  ];
  return { json: { ...explanation, version: set.version, mode }, text: lines.join('\n') };
}

function nothingOf(choice: Choice): string {
  if ('messageId' in choice) return `no text with the id ${choice.messageId}`;
  if ('callId' in choice) return `no ended call with the id ${choice.callId}`;
  return `no text from ${choice.number} on the line ${choice.line}, and no ended call between both`;
}

/** What is being explained. */
function headOf({ message, call }: Explanation, timeZone: string): string[] {
  const lines: string[] = [];
  if (message) {
    const { messageId, at, text } = message;
    lines.push(`Text ${messageId} of ${toTheSecond(at, timeZone)} ${partiesOf(message)}: ${printable(text)}`);
  }
  if (call) {
    const { callId, at, status, reached, seconds } = call;
    const how = `${status ?? 'no status'}, reached ${reached}, ${seconds ?? '?'} s`;
    lines.push(`Call ${callId} that ended ${toTheSecond(at, timeZone)} ${partiesOf(call)}: ${how}`);
  }
  return lines;
}

function partiesOf({ direction, line, number }: ExplainedText | ExplainedCall): string {
  const [from, to] = direction === 'in' || direction === 'inbound' ? [number, line] : [line, number];
  return `from ${from ?? 'an unknown number'} to ${to ?? 'an unknown number'}`;
}

function choiceOf(which: string): Choice {
  if (/^\d{1,19}$/.test(which)) return { messageId: which };
  if (/^\d{9,11}\.\d{1,12}$/.test(which)) return { callId: which };
  const { line, number, participants } = threadOf(typedThreadKey(which) ?? '');
  if (number !== '' && participants.length === 0) return { line, number };
  throw new UserError(
    'Name a thread as <line>/<number>, such as 18455550100/12125550123, or a text or call by its id.',
  );
}

interface RenderOptions {
  readonly maxMode: Mode;
  readonly timeZone: string;
  /** What is being explained, in words. */
  readonly of: string;
}

function renderExplanation(
  { rule, on, mode, heldBack, outcome, dueAt, tooOldAt, falseClauses, does, reply, isTooOldNow, past }: RuleExplanation,
  { maxMode, timeZone, of }: RenderOptions,
): string[] {
  const due = outcome === 'not_due' && dueAt ? `: it is evaluated ${toTheSecond(dueAt, timeZone)}` : '';
  const lines = [`${rule}: ${outcomeWords(outcome, on, of)}${due}`];
  for (const { clause, facts } of falseClauses) {
    const values = Object.entries(facts).map(
      ([path, value]) =>
        `${path} ${value === undefined ? 'is missing' : `= ${value instanceof Date ? toTheSecond(value, timeZone) : printable(value)}`}`,
    );
    lines.push(`  false: ${clause.replace(/\s+/g, ' ')}`, ...values.map((value) => `    ${value}`));
  }
  if (does !== undefined) lines.push(`  It does: ${does.join(', ')}.`);
  if (reply !== undefined) lines.push(`  ${replyWords(reply)}`);
  const least = lesserMode(mode, maxMode);
  const why = heldBack ? heldBackWords : `its mode is ${least}`;
  if (outcome === 'matched' && least !== 'live') lines.push(`  Nothing is done: ${why}.`);
  if (outcome === 'matched' && isTooOldNow && dueAt && tooOldAt) {
    const [due, tooOld] = [dueAt, tooOldAt].map((moment) => toTheSecond(moment, timeZone));
    lines.push(`  It would not act now: it was due ${due}, and by its max_age too old since ${tooOld}.`);
  }
  if (past) {
    lines.push(
      `  In fact, ${toTheSecond(past.evaluatedAt, timeZone)} (version ${past.version}, ${past.mode}): ${past.reason}`,
    );
    for (const { kind, state, reason, sendId, sendState, sendReason } of past.actions) {
      const send =
        sendId === null ? '' : `; send ${sendId} is ${sendState}${sendReason === null ? '' : ` (${sendReason})`}`;
      if (sendReason === 'dry_run') lines.push(`    ${kind}: only simulated, in dry-run mode; send ${sendId}`);
      else lines.push(`    ${kind}: ${state}${reason === null ? '' : ` (${reason})`}${send}`);
    }
  } else if (outcome !== 'other_trigger' && outcome !== 'off' && outcome !== 'not_due') {
    lines.push('  In fact: no match and no refusal is recorded.');
  }
  return lines;
}

const defaultSpanMs = 7 * 86_400_000;

export async function simulateRules({ file: named, ...given }: RangeFlags & { file?: string }): Promise<Output> {
  const { from, to } = rangeOf(given, defaultSpanMs);
  await using database = await openDatabase('rules');
  const { rulesFile, timeZone, hoursZone } = database.settings;
  const inForce = named === undefined ? await readInForce(database.db) : undefined;
  const file = inForce ? `version ${inForce.version}` : (named ?? rulesFile);
  const set = inForce ? parseRules(inForce.text, { file, timeZone: hoursZone }) : (await load(file, hoursZone)).set;
  const progress = createProgress('triggers');
  const report = await simulate(database.db, {
    set,
    from,
    to,
    onProgress: (done, of) => progress(done / of, done),
  });
  return {
    json: { ...report, ...(inForce ? { version: inForce.version } : { file }), timeZone },
    text: `${renderReport(report, timeZone)}
Simulated with ${file}${inForce ? ', which is in force' : ''}, in the time zone ${timeZone}.
${simulationLimits}`,
  };
}

/** The rules of a file, and its text. Rejects with a `RulesError` if it has errors. */
async function load(file: string, timeZone: string | undefined) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`${file} cannot be read (${error.code}): set RULES_FILE, or name the file.`);
  });
  return { text, set: parseRules(text, { file, timeZone }) };
}

function renderReport(report: Report, timeZone: string): string {
  const head = ['rule', 'tried', 'matched', 'texts', 'segments', 'at most', 'blocked', 'steps'];
  const rows = report.rules.map((each) => [
    ...[each.rule, each.tried, each.matched, each.messages, each.segments, dollars(each.micros)],
    listed(each.blocked),
    listed(each.actions),
  ]);
  const { from, to, matched, messages, segments, micros } = report;
  const span = `${toTheSecond(from, timeZone)} to ${toTheSecond(to, timeZone)}`;
  const sum = `${span}: ${countOf(matched, 'match')}, ${countOf(messages, 'text')} in ${countOf(segments, 'segment')}, at most ${dollars(micros)}. Nothing was sent or written.`;
  return [renderColumns(head, rows), ...report.rules.flatMap((each) => renderDetails(each, timeZone)), sum].join('\n');
}

function renderDetails(
  { rule, days, examples, unmatched, held, isApprovalNeeded }: RuleReport,
  timeZone: string,
): string[] {
  const why = Object.entries(unmatched).length > 0 ? [`  not matched: ${listed(unmatched, ', ')}`] : [];
  const approval = isApprovalNeeded ? ['  Each text would first wait for a person to approve it.'] : [];
  const waiting = held > 0 ? [`  ${countOf(held, 'text')} would first wait for the end of quiet hours.`] : [];
  const perDay = Object.entries(days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([date, day]) =>
        `  ${date}: ${countOf(day.matched, 'match')}${day.messages > 0 ? `, ${countOf(day.messages, 'text')}, ${countOf(day.segments, 'segment')}, ${dollars(day.micros)}` : ''}`,
    );
  const texts = examples.map(
    ({ at, thread, text, outcome, reason }) =>
      `  e.g. ${toTheSecond(at, timeZone)} ${thread}: ${outcome}${reason === undefined ? '' : `: ${reason}`}${text === undefined ? '' : ` “${text}”`}`,
  );
  return perDay.length + why.length === 0 ? [] : [rule, ...approval, ...waiting, ...perDay, ...why, ...texts, ''];
}

function listed(counts: Readonly<Record<string, number>>, separator = '\n'): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name.replace(/^gate:/, '')}`)
    .join(separator);
}
