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
import { heldBackWords, lesserMode, type Mode } from '../rules/rule.ts';
import { readRuleSet } from '../rules/versions.ts';
import { isCallId } from '../shared/call-id.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { toTheSecond } from '../shared/format.ts';
import { threadOf } from '../shared/thread.ts';
import { typedThreadKey } from '../warehouse/phone-numbers.ts';
import { openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { readStanding } from './rules.ts';

/** What each rule decides about a text or call, and what it did. */
export async function explainRules(which: string): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db, settings } = database;
  const { timeZone, hoursZone } = settings;
  const choice = choiceOf(which);
  const { allowed: mode, words } = await readStanding(db, settings);
  const set = await readRuleSet(db, hoursZone);
  if (!set) throw new UserError(words);
  const explanation = await explain(db, set, choice, mode);
  if (!explanation) throw new UserError(`The mirror has ${nothingOf(choice)}.`);
  const { message, call, rules } = explanation;
  const of = message && call ? 'this text or call' : message ? 'a text' : 'this call';
  const lines = [
    ...headOf(explanation, timeZone),
    ...(set.rules.length === 0 ? ['', 'No rule is in force.'] : []),
    ...rules.flatMap((rule) => ['', ...renderExplanation(rule, { maxMode: mode, timeZone, of })]),
    `\nEvaluated with the data known then. ${words}`,
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
  if (isCallId(which)) return { callId: which };
  const { line, number, participants } = threadOf(typedThreadKey(which) ?? '');
  if (number !== '' && participants.length === 0) return { line, number };
  throw new WrongUse('Name a thread as <line>/<number>, such as 18455550100/12125550123, or a text or call by its id.');
}

function renderExplanation(
  { rule, on, mode, heldBack, outcome, dueAt, tooOldAt, falseClauses, does, reply, isTooOldNow, past }: RuleExplanation,
  { maxMode, timeZone, of }: { maxMode: Mode; timeZone: string; of: string },
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
    const why = outcome === 'matched' ? ': the rule was not in force then, or no worker ran' : '';
    lines.push(`  In fact: no match and no refusal is recorded${why}.`);
  }
  return lines;
}

const maxLength = 200;

/** A value for the terminal: on one line, shortened. */
function printable(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string') return JSON.stringify(value);
  return JSON.stringify(value.length > maxLength ? `${value.slice(0, maxLength)}…` : value);
}
