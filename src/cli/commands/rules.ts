import { readFile } from 'node:fs/promises';
import { normalizeNumber } from '../../numbers.ts';
import { explain, type RuleExplanation, type TextChoice } from '../../rules/explain.ts';
import { type DescribedFact, describedFacts } from '../../rules/facts/declared.ts';
import { fixturesOf } from '../../rules/facts/fixtures.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { type RulesProblem, shownProblem } from '../../rules/file/problem.ts';
import { lesserMode, type Mode, type RuleSet } from '../../rules/rule.ts';
import type { Report, RuleReport } from '../../rules/simulate/report.ts';
import { simulate } from '../../rules/simulate/simulate.ts';
import { type TriggerKind, triggerKinds } from '../../rules/triggers.ts';
import { renderColumns } from '../../status/columns.ts';
import { toTheSecond } from '../../status/words.ts';
import { createDatabase, type OpenDatabase, query } from '../../warehouse/database.ts';
import { commandSettings } from '../environment.ts';
import { CommandFailed } from '../exit.ts';
import { rangeOf } from '../moments.ts';
import { createProgress } from '../progress.ts';
import { createRemarks } from '../remarks.ts';

interface Flags {
  readonly json?: boolean;
}

/** What rules mean depends on it: a command in another terminal must not judge otherwise than the daemon. */
const judgedBy = ['TIME_ZONE', 'RULES_FILE', 'RULES_MODE'] as const;

/** Says whether a rules file is good; each mistake with its line and its cure. Exit code 1 also for a mere warning. */
export async function runCheck(path: string | undefined, { json }: Flags): Promise<void> {
  const { rulesFile, timeZone, databaseUrl } = await commandSettings({ alike: judgedBy });
  const file = path ?? rulesFile;
  const set = await load(file, timeZone, json);
  if (!set) return;
  const warnings = [...set.warnings, ...(await unknownUsers(set, databaseUrl))];
  if (warnings.length > 0) process.exitCode = 1;
  if (json) {
    const { version, rules } = set;
    return console.log(JSON.stringify({ file, version, rules: rules.length, problems: [], warnings }));
  }
  const text = await readFile(file, 'utf8');
  for (const { message, ...rest } of warnings) {
    console.error(`${shownProblem(file, text, { ...rest, message: `warning: ${message}` })}\n`);
  }
  const rules = `${counted(set.rules.length, 'rule')}, version ${set.version}`;
  console.log(
    warnings.length > 0
      ? `${file} can be used, but see ${counted(warnings.length, 'warning')}: ${rules}.`
      : `${file} is good: ${rules}.`,
  );
}

/** Users whom the file names and the directory does not know. None without a database, or before users were mirrored. */
async function unknownUsers({ users }: RuleSet, databaseUrl: string | undefined): Promise<RulesProblem[]> {
  if (users.length === 0 || databaseUrl === undefined) return [];
  try {
    await using database = openDatabase(databaseUrl);
    const known = await query<{ names: string[] }>(
      database.db,
      'select array[user_id::text, lower(username), lower(email)] as names from warehouse.users where deleted_at is null',
      [],
    );
    if (known.length === 0) return [];
    const names = new Set(known.flatMap((user) => user.names));
    return users
      .filter(({ user }) => !names.has(String(user).toLowerCase()))
      .map(({ user, line, column }) => ({
        ...{ line, column },
        message: `The account has no user ${typeof user === 'number' ? `with the id ${user}` : user}.`,
        cure: 'Write the id, username or e-mail of a user, line, agent, or nobody.',
      }));
  } catch (error) {
    console.error(`Users were not looked up: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

/** Lists the rules in their order, with what each has done, and how far the workers let it go. */
export async function runList({ json }: Flags): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'], alike: judgedBy });
  const set = await load(settings.rulesFile, settings.timeZone, json);
  if (!set) return;
  await using database = openDatabase(settings.databaseUrl);
  const done = await query<{ rule: string; tried: number; matched: number; last_at: Date | null }>(
    database.db,
    `select rule, count(*)::integer as tried, count(*) filter (where is_matched)::integer as matched,
       max(trigger_at) filter (where is_matched) as last_at
     from ops.rule_runs group by rule`,
    [],
  );
  const [inForce] = await query<InForce>(database.db, 'select version, mode, problem from ops.rules_loaded', []);
  const rows = set.rules.map((rule) => {
    const { tried = 0, matched = 0, last_at: lastAt = null } = done.find((each) => each.rule === rule.name) ?? {};
    const mode = lesserMode(rule.mode, inForce?.mode ?? settings.rulesMode);
    return { rule: rule.name, on: rule.on, does: rule.steps.map(({ kind }) => kind), mode, tried, matched, lastAt };
  });
  if (json) return console.log(JSON.stringify(rows));
  const head = ['rule', 'on', 'does', 'mode', 'tried', 'matched', 'last'];
  const lines = rows.map(({ rule, on, does, mode, tried, matched, lastAt }) => {
    return [rule, on, does.join(', '), mode, tried, matched, lastAt ? toTheSecond(lastAt) : ''];
  });
  console.log(renderColumns(head, lines));
  console.log(standingOf(set, inForce));
}

/** What the workers wrote down of the rules that they go by. */
interface InForce {
  readonly version: string | null;
  readonly mode: Mode;
  readonly problem: string | null;
}

/** Whether the workers go by this file. */
function standingOf({ version }: RuleSet, inForce: InForce | undefined): string {
  if (!inForce) return 'No worker has looked at a rules file yet.';
  const mode = `RULES_MODE of the workers is ${inForce.mode}.`;
  if (inForce.version === version) return `In force, version ${version}. ${mode}`;
  const other = inForce.version === null ? 'no rules at all' : `version ${inForce.version}`;
  const why = inForce.problem === null ? '' : ` They refused a newer file:\n${inForce.problem}`;
  return `This file is version ${version}; the workers go by ${other}. ${mode}${why}`;
}

/** Prints every fact with its type, its meaning, its values and an example; those of one trigger, if it is named. */
export function runFacts(on: TriggerKind | undefined, { json }: Flags): void {
  const facts = describedFacts()
    .filter(({ triggers }) => on === undefined || triggers.includes(on))
    .map((each) => ({ ...each, example: exampleOf(each.fact, on ?? each.triggers[0]) }));
  if (json) {
    console.log(JSON.stringify(facts));
    return;
  }
  for (const [triggers, some] of Map.groupBy(facts, (each) => each.triggers.join(', '))) {
    const isEverywhere = some[0]?.triggers.length === triggerKinds.length;
    console.log(isEverywhere ? 'In every rule:' : `In rules on ${triggers}:`);
    for (const each of some) {
      console.log(`  ${each.fact}  ${each.type}${each.isOptional ? ', can be missing: has(…) asks' : ''}`);
      console.log(`      ${each.meaning}${formsOf(each, on)} Example: ${shown(each.example)}`);
    }
    console.log('');
  }
  console.log('Types are those of CEL: compare an int with a number, a timestamp with now - duration("2h").');
}

function formsOf({ values, valuesOn, format, min }: DescribedFact, on: TriggerKind | undefined): string {
  const known = (on && valuesOn?.[on]) ?? values;
  const less = Object.entries(on ? {} : (valuesOn ?? {})).map(
    ([kind, some]) => `; on ${kind} always ${some?.map(shown).join(', ')}`,
  );
  const formats = {
    number: ' Digits with the country code.',
    plain: ' Neither capital letters nor punctuation.',
    time: ' Written HH:MM.',
    date: ' Written YYYY-MM-DD.',
  };
  return [
    known ? ` One of ${known.map(shown).join(', ')}${less.join('')}.` : '',
    format ? formats[format] : '',
    min === undefined ? '' : ` At least ${min}.`,
  ].join('');
}

/** The fact's value in the sample that rules are tried on. */
function exampleOf(path: string, kind: TriggerKind = 'message_received'): unknown {
  const [sample] = fixturesOf(kind);
  const [group = '', name = ''] = path.split('.');
  const facts = sample as unknown as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  return name === '' ? facts[group] : facts[group]?.[name];
}

const longestShown = 200;

/** A value for the terminal: on one line, shortened, and without characters that move the cursor or turn the writing. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Says of each rule whether it acts on a text and why not, and what really happened. Writes nothing. */
export async function runExplain(which: string, { json }: Flags): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'], alike: judgedBy });
  const { rulesFile, timeZone } = settings;
  const choice = textChoiceOf(which);
  const set = await load(rulesFile, timeZone, json);
  if (!set) return;
  await using database = openDatabase(settings.databaseUrl);
  const [inForce] = await query<InForce>(database.db, 'select version, mode, problem from ops.rules_loaded', []);
  const mode = inForce?.mode ?? settings.rulesMode;
  const explanation = await explain(database.db, set, choice, mode);
  if (!explanation) {
    throw new CommandFailed(
      'messageId' in choice
        ? `The mirror holds no text with the id ${choice.messageId}.`
        : `The mirror holds no text from ${choice.number} on the line ${choice.line}.`,
    );
  }
  if (json) return console.log(JSON.stringify({ ...explanation, file: rulesFile, version: set.version, mode }));
  const { message, rules } = explanation;
  const [from, to] = message.direction === 'in' ? [message.number, message.line] : [message.line, message.number];
  console.log(`Text ${message.messageId} of ${message.at.toISOString()} from ${from} to ${to}: ${shown(message.text)}`);
  for (const rule of rules) console.log(`\n${explained(rule, mode).join('\n')}`);
  console.log(`\nTried with what was known when it came, by ${rulesFile}. ${standingOf(set, inForce)}`);
}

function textChoiceOf(which: string): TextChoice {
  if (/^\d{1,19}$/.test(which)) return { messageId: which };
  const [line = '', number = '', ...rest] = which.split('/').map(normalizeNumber);
  if (line !== '' && number !== '' && rest.length === 0) return { line, number };
  throw new CommandFailed('Name a thread as <line>/<number>, such as 18455550100/12125550123, or a text by its id.');
}

function explained(
  { rule, on, mode, outcome, falseClauses, reply, isTooOldNow, past }: RuleExplanation,
  most: Mode,
): string[] {
  const lines = [`${rule}: ${outcomeWords(outcome, on)}`];
  for (const { clause, facts } of falseClauses) {
    const values = Object.entries(facts).map(([path, value]) => `${path} = ${shown(value)}`);
    lines.push(`  false: ${clause.replace(/\s+/g, ' ')}`, ...values.map((value) => `    ${value}`));
  }
  if (reply === 'sent') lines.push('  Every gate lets its reply out.');
  else if (reply === 'held') lines.push('  Its reply waits for the end of the quiet hours.');
  else if (reply !== undefined) lines.push(`  Its reply is refused: ${reply}.`);
  const least = lesserMode(mode, most);
  if (outcome === 'matched' && least !== 'live') lines.push(`  Nothing is done: it is ${least}.`);
  if (outcome === 'matched' && isTooOldNow)
    lines.push('  It would not act any more now: the trigger is older than its max_age.');
  if (past) {
    lines.push(`  In fact, ${past.evaluatedAt.toISOString()} (version ${past.version}, ${past.mode}): ${past.reason}`);
    for (const { kind, state, reason, sendId, sendState, sendReason } of past.actions) {
      const send =
        sendId === null ? '' : `; send ${sendId} is ${sendState}${sendReason === null ? '' : ` (${sendReason})`}`;
      lines.push(`    ${kind}: ${state}${reason === null ? '' : ` (${reason})`}${send}`);
    }
  } else if (outcome !== 'other_trigger' && outcome !== 'off' && outcome !== 'not_due') {
    lines.push('  In fact: no worker has tried it on this text.');
  }
  return lines;
}

function outcomeWords(outcome: string, on: string): string {
  const words: Readonly<Record<string, string>> = {
    matched: 'matches',
    condition_false: 'its condition is false',
    off: 'is off',
    other_trigger: on === 'thread_idle' ? 'waits for silence after a later text' : `waits for ${on}, not for a text`,
    not_due: 'the thread has not been silent for long enough yet',
    gone: 'what it waits for is gone',
    no_other_party: 'there is no other party',
    group_thread: 'rules do not act in groups',
  };
  const [kind = '', detail = ''] = outcome.split(':');
  if (kind === 'limit') return `its limit per ${detail} is used up`;
  if (kind === 'stopped') return `${detail} above stopped it`;
  return words[outcome] ?? outcome;
}

export interface SimulateFlags extends Flags {
  readonly from?: Date;
  readonly to?: Date;
  readonly file?: string;
}

const usualSimulationMs = 7 * 86_400_000;

/**
 * Lets the rules meet what the mirror holds of a span, the last week unless told otherwise, and says what they would have
 * done and cost. Writes nothing.
 */
export async function runSimulate({ file: named, json, ...given }: SimulateFlags): Promise<void> {
  const { from, to } = rangeOf(given, usualSimulationMs);
  const settings = await commandSettings({ needed: ['DATABASE_URL'], alike: judgedBy });
  const { rulesFile, timeZone } = settings;
  const file = named ?? rulesFile;
  const set = await load(file, timeZone, json);
  if (!set) return;
  await using database = openDatabase(settings.databaseUrl);
  const progress = createProgress('triggers');
  const report = await simulate(database.db, {
    set,
    from,
    to,
    onProgress: (done, of) => progress.show(done / of, done),
  });
  progress.end();
  if (json) return console.log(JSON.stringify({ ...report, file, timeZone }));
  console.log(renderReport(report));
  console.log(`Judged by ${file}, version ${set.version}, in the time zone ${timeZone}.`);
}

function openDatabase(url = ''): OpenDatabase {
  return createDatabase({ url, log: createRemarks(), maxConnections: 1, name: 'rules' });
}

/** The rules of a file; undefined when it has mistakes, which are printed then. */
async function load(file: string, timeZone: string, json: boolean | undefined): Promise<RuleSet | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`${file} cannot be read (${error.code}): set RULES_FILE, or name the file.`);
  });
  try {
    return parseRules(text, { file, timeZone });
  } catch (error) {
    const { code, problems, message } = error as { code?: string; problems?: unknown; message: string };
    if (code !== 'rules') throw error;
    if (json) console.log(JSON.stringify({ file, problems }));
    else console.error(message);
    process.exitCode = 1;
    return undefined;
  }
}

function renderReport(report: Report): string {
  const head = ['rule', 'tried', 'matched', 'texts', 'segments', 'at most', 'blocked', 'steps'];
  const rows = report.rules.map((each) => [
    ...[each.rule, each.tried, each.matched, each.messages, each.segments, dollars(each.micros)],
    listed({ ...each.blocked, ...(each.held > 0 && { held: each.held }) }),
    listed(each.actions),
  ]);
  const { from, to, matched, messages, segments, micros } = report;
  const span = `${toTheSecond(from)} to ${toTheSecond(to)}`;
  const sum = `${span}: ${counted(matched, 'match')}, ${counted(messages, 'text')} in ${counted(segments, 'segment')}, at most ${dollars(micros)}. Nothing was sent or written.`;
  return [renderColumns(head, rows), ...report.rules.flatMap(renderDetails), sum].join('\n');
}

function renderDetails({ rule, days, examples, unmatched }: RuleReport): string[] {
  const why = Object.entries(unmatched).length > 0 ? [`  not matched: ${listed(unmatched, ', ')}`] : [];
  const perDay = Object.entries(days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([date, day]) =>
        `  ${date}: ${counted(day.matched, 'match')}${day.messages > 0 ? `, ${counted(day.messages, 'text')}, ${counted(day.segments, 'segment')}, ${dollars(day.micros)}` : ''}`,
    );
  const shown = examples.map(
    ({ at, thread, text, outcome }) =>
      `  e.g. ${toTheSecond(at)} ${thread}: ${outcome}${text === undefined ? '' : ` “${text}”`}`,
  );
  return perDay.length + why.length === 0 ? [] : [rule, ...perDay, ...why, ...shown, ''];
}

function listed(counts: Readonly<Record<string, number>>, separator = '\n'): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name.replace(/^gate:/, '')}`)
    .join(separator);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : noun.endsWith('ch') ? 'es' : 's'}`;
}

function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}
