import { hash } from 'node:crypto';
import { LineCounter, parseDocument } from 'yaml';
import { maxSegments, outsideGsm } from '../../ledger/budgets.ts';
import { defaultApprovalSeconds, defaultRuleLimits, type RuleLimits } from '../../ledger/limits.ts';
import { type BusinessHours, type Calendars, type Opening, type Weekday, weekdays } from '../business-hours.ts';
import { type Condition, compileCondition } from '../conditions/condition.ts';
import type { TextProblem } from '../conditions/expressions.ts';
import { createTemplates, type Template } from '../conditions/template.ts';
import { declarationOf, sampleFacts } from '../facts/declared.ts';
import type { Assignee, NamedLine, NamedTarget, NamedUser, Rule, RuleSet, SampleReply, Step } from '../rule.ts';
import { contentOf, encodingProblem, schemaProblems, schemaWording, tagProblems, yamlProblem } from './mistakes.ts';
import { type Positions, positionsIn, RulesError, type RulesProblem } from './problems.ts';
import { accountLimitsOf, callBackNeedOf, type RulesFile, rulesSchema, type WrittenRule } from './schema.ts';

export interface ParseOptions {
  /** The path as messages show it. */
  readonly file: string;
  /**
   * IANA time zone of the business hours and of times in templates. Undefined while nobody has chosen one: times are
   * then in UTC, and rules that use them are at most `dry-run`.
   */
  readonly timeZone: string | undefined;
}

type Path = readonly PropertyKey[];

/**
 * Parses a rules file and evaluates each rule on sample facts. Throws one `RulesError` with all problems that can be
 * known at once, in the order of the file.
 */
export function parseRules(text: string, { file, timeZone }: ParseOptions): RuleSet {
  const garbled = encodingProblem(text);
  if (garbled) throw new RulesError(file, text, [garbled]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const positions = positionsIn(text, document, lines);
  const tags = tagProblems(text, document, positions);
  const refuse = (problems: readonly RulesProblem[]) => {
    // A tag changes the meaning of its line: other problems of that line would mislead.
    const others = problems.filter(({ line }) => tags.every((tag) => tag.line !== line));
    throw new RulesError(file, text, [...tags, ...others].sort(byPosition));
  };
  const unreadable = yamlProblem(document, positions);
  const content = contentOf(document, positions);
  if ('problem' in content) return refuse([unreadable ?? content.problem]);
  const { success, data, error } = rulesSchema.safeParse(content.value ?? {}, {
    reportInput: true,
    error: schemaWording,
  });
  const problems = error ? schemaProblems(error, positions) : duplicateLines(data, positions);
  const warnings: RulesProblem[] = [];
  const written: Judged = data ?? { rules: wellFormed(content.value) };
  problems.push(...duplicateNames(written.rules, positions));
  const rules = buildRules(written, timeZone, positions, { problems, warnings });
  if (unreadable) {
    // Only the rules above the one with the error are certainly read as they were meant.
    const starts = written.rules.map((_, at) => positions.ofValue(['rules', at]).line);
    const [first = 0] = starts;
    const misread = starts.findLast((line) => line <= unreadable.line) ?? 0;
    return refuse([unreadable, ...problems.filter(({ line }) => line >= first && line < misread)]);
  }
  if (!success || problems.length > 0 || tags.length > 0) return refuse(problems);
  return {
    version: fingerprint(text),
    rules,
    timeZone,
    hours: calendarsOf(data, timeZone),
    datesEnd: endOfDates(data, positions),
    missed: callBackNeedOf(data),
    accountLimits: accountLimitsOf(data),
    ...namesIn(data, rules, positions),
    replies: repliesIn(data.rules, rules, positions, warnings),
    warnings: warnings.sort(byPosition),
  };
}

/** The rules of a file with formal problems, without the keys that have them. Undefined if too little is left. */
function wellFormed(content: unknown): Judged['rules'] {
  const { rules } = (content ?? {}) as { readonly rules?: unknown };
  const schema = rulesSchema.shape.rules.element;
  return (Array.isArray(rules) ? rules : []).map((rule) => {
    const { error } = schema.safeParse(rule);
    const wrong = error?.issues.flatMap((issue) =>
      issue.path.length === 0 && issue.code === 'unrecognized_keys' ? issue.keys : issue.path.slice(0, 1),
    );
    const rest = Object.entries(rule ?? {}).filter(([key]) => !wrong?.includes(key));
    return schema.safeParse({ do: [{ reopen: true }], ...Object.fromEntries(rest) }).data;
  });
}

function fingerprint(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

/** Whether a rule depends on local times, in its idle time, its condition or a text. */
function speaksOfHours(rule: WrittenRule, condition: Condition | undefined): boolean {
  const tags = JSON.stringify(rule.do).match(/\{[{%][^}]*/g) ?? [];
  return (
    rule.for?.isBusiness === true || [...(condition?.paths ?? []), ...tags].some((each) => each.includes('hours.'))
  );
}

/** The users, lines and targets that steps name. */
function namesIn(
  { rules, offices = {} }: RulesFile,
  parsed: readonly Rule[],
  positions: Positions,
): Pick<RuleSet, 'users' | 'lines' | 'targets'> {
  const users: NamedUser[] = [];
  const lines: NamedLine[] = Object.entries(offices).flatMap(([name, office]) =>
    office.lines.map((number, at) => ({
      ...positions.ofValue(['offices', name, 'lines', at]),
      ...{ number, isSender: false },
    })),
  );
  const targets: NamedTarget[] = [];
  for (const [at, rule] of rules.entries()) {
    for (const { path, text, offset } of parsed[at]?.condition?.comparisons ?? []) {
      if (path !== 'line.number') continue;
      lines.push({ ...positions.within(['rules', at, 'if'], offset), number: text, isSender: false });
    }
    for (const [index, { assign, reply, notify, webhook }] of rule.do.entries()) {
      const positionOf = (...keys: string[]) => positions.ofValue(['rules', at, 'do', index, ...keys]);
      if (assign !== undefined && !isRole(assign)) users.push({ ...positionOf('assign'), user: assign });
      const from = typeof reply === 'object' ? reply.from : undefined;
      if (from !== undefined) lines.push({ ...positionOf('reply', 'from'), number: from, isSender: true });
      const asked = typeof reply === 'object' && typeof reply.approve === 'object' ? reply.approve.notify : undefined;
      if (asked) targets.push({ ...positionOf('reply', 'approve', 'notify'), name: asked, kind: 'notify' });
      if (notify) targets.push({ ...positionOf('notify', 'to'), name: notify.to, kind: 'notify' });
      if (webhook) targets.push({ ...positionOf('webhook', 'to'), name: webhook.to, kind: 'webhook' });
    }
  }
  return { users, lines, targets };
}

/** The replies. Adds warnings about texts that probably mean something else than intended. */
function repliesIn(
  written: readonly WrittenRule[],
  rules: readonly Rule[],
  positions: Positions,
  warnings: RulesProblem[],
): SampleReply[] {
  return rules.flatMap(({ name, on, condition, steps }, at) => {
    const index = steps.findIndex(({ kind }) => kind === 'reply');
    const [step, reply, [sample]] = [steps[index], written[at]?.do[index]?.reply, sampleFacts(on)];
    if (step?.kind !== 'reply' || reply === undefined || !sample) return [];
    const path = ['rules', at, 'do', index, 'reply', ...(typeof reply === 'string' ? [] : ['text'])];
    const source = typeof reply === 'string' ? reply : reply.text;
    const warn = (word: string, message: string, remedy: string) =>
      warnings.push({ ...positions.within(path, Math.max(0, source.indexOf(word))), message, remedy });
    const text = step.text.render(sample);
    const [segments, costly] = [maxSegments(text), outsideGsm(text)];
    const fewer = maxSegments(costly.reduce((rest, each) => rest.replaceAll(each, '-'), text));
    // A text with more such characters is in another script, and nobody would replace them.
    if (fewer < segments && costly.length <= 5) {
      const message = `${costly.join(' ')} makes ${segments} segments of what would be ${fewer}.`;
      warn(costly[0] ?? '', message, `Write plain quotes, dashes and dots (" ' - ...), and no emoji.`);
    }
    for (const [, fact = '', filters = ''] of source.matchAll(/\{\{-?\s*([a-z]+\.\w+)([^}]*)\}\}/g)) {
      const asked = [...(condition?.paths ?? []), ...(source.match(/\{%[^%]*%\}/g) ?? [])];
      if (!declarationOf(fact)?.isOptional || filters.includes('default') || asked.some((each) => each.includes(fact)))
        continue;
      const remedy = `Write {{ ${fact} | default: "…" }}, or {% if ${fact} %} … {% endif %}.`;
      warn(fact, `${fact} can be missing: the text has a gap then.`, remedy);
    }
    return [{ ...positions.ofValue(path), rule: name, segments }];
  });
}

function byPosition(a: RulesProblem, b: RulesProblem): number {
  return a.line - b.line || a.column - b.column;
}

function duplicateNames(rules: Judged['rules'], positions: Positions): RulesProblem[] {
  const lines = new Map<string, number>();
  return rules.flatMap((rule, at) => {
    if (!rule) return [];
    const { name } = rule;
    const position = positions.ofValue(['rules', at, 'name']);
    const before = lines.get(name);
    lines.set(name, position.line);
    if (before === undefined) return [];
    const message = `There are two rules called ${name}.`;
    return [{ ...position, message, remedy: `The other is in line ${before}. Give each rule its own name.` }];
  });
}

/** A file in which undefined stands for a malformed rule. */
type Judged = Omit<RulesFile, 'rules'> & { readonly rules: readonly (WrittenRule | undefined)[] };

function buildRules(
  { rules, business_hours: hours }: Judged,
  chosenZone: string | undefined,
  positions: Positions,
  { problems, warnings }: { readonly problems: RulesProblem[]; readonly warnings: RulesProblem[] },
): Rule[] {
  const timeZone = hours?.time_zone ?? chosenZone ?? 'UTC';
  const compileTemplate = createTemplates(timeZone);

  /** Reports what is wrong with a text. Then the result isn't used, because `parseRules` throws. */
  function compiled<T extends object>(path: Path, result: T | TextProblem): T {
    if ('offset' in result) {
      const { offset, message, remedy } = result;
      problems.push({ ...positions.within(path, offset), message, remedy });
    }
    return result as T;
  }

  function conditionOf(rule: WrittenRule, path: Path): Condition | undefined {
    if (rule.if === undefined) return undefined;
    const condition = compiled(path, compileCondition(rule.on, rule.if, timeZone));
    for (const { offset, message, remedy } of condition.warnings ?? []) {
      warnings.push({ ...positions.within(path, offset), message, remedy });
    }
    return condition;
  }

  return rules.flatMap((rule, at) => {
    if (!rule) return [];
    const path = ['rules', at];
    const { limits = {} } = rule;
    // Nobody expects a quick reaction to an idle thread, so one that became idle during an outage still counts.
    const maxAgeSeconds = limits.max_age ?? (rule.on === 'thread_idle' ? 86_400 : defaultRuleLimits.maxAgeSeconds);
    const template = (text: string, where: Path): Template => compiled(where, compileTemplate(rule.on, text));
    const condition = conditionOf(rule, [...path, 'if']);
    // Business hours with their own time zone don't depend on TIME_ZONE.
    const usesHours = hours?.time_zone === undefined && speaksOfHours(rule, condition);
    const isHeldBack = rule.mode === 'live' && usesHours && chosenZone === undefined;
    return {
      name: rule.name,
      on: rule.on,
      idle: rule.for,
      afterSeconds: rule.after,
      condition,
      steps: rule.do.map((step, index) => stepOf(step, [...path, 'do', index], template)),
      limits: { thread: limits.per_thread, contact: limits.per_contact },
      maxAgeSeconds,
      replyLimits: {
        maxAgeSeconds,
        humanMinutes: limits.human_pause && Math.ceil(limits.human_pause / 60),
        quietHours: limits.quiet_hours,
        isFollowUp: rule.on === 'thread_idle' || undefined,
        delaySeconds: rule.after,
        approval: approvalOf(rule),
      },
      stops: rule.stop,
      hoursAt: usesHours ? positions.ofValue([...path, 'name']) : undefined,
      ...(isHeldBack ? { mode: 'dry-run', heldBack: 'time_zone_unset' } : { mode: rule.mode }),
    };
  });
}

function approvalOf({ do: steps }: WrittenRule): RuleLimits['approval'] {
  const reply = steps.find((step) => step.reply !== undefined)?.reply;
  if (typeof reply !== 'object' || reply.approve === undefined) return undefined;
  const { expires = defaultApprovalSeconds, notify } = reply.approve === true ? {} : reply.approve;
  return { expiresSeconds: expires, notify };
}

function stepOf(step: WrittenRule['do'][number], path: Path, template: (text: string, where: Path) => Template): Step {
  if (typeof step.reply === 'string') return { kind: 'reply', text: template(step.reply, [...path, 'reply']) };
  if (step.reply !== undefined) {
    const { text, from } = step.reply;
    return { kind: 'reply', text: template(text, [...path, 'reply', 'text']), from };
  }
  if (step.comment !== undefined) return { kind: 'comment', text: template(step.comment, [...path, 'comment']) };
  if (step.assign !== undefined) return { kind: 'assign', to: assigneeOf(step.assign) };
  if (step.reopen !== undefined) return { kind: 'reopen' };
  if (step.notify !== undefined) {
    const { to, text } = step.notify;
    return { kind: 'notify', to, text: template(text, [...path, 'notify', 'text']) };
  }
  if (step.webhook !== undefined) return { kind: 'webhook', ...step.webhook };
  const { comment } = step.resolve === true || step.resolve === undefined ? {} : step.resolve;
  return {
    kind: 'resolve',
    comment: comment === undefined ? undefined : template(comment, [...path, 'resolve', 'comment']),
  };
}

function assigneeOf(written: number | string): Assignee {
  if (typeof written === 'number') return { kind: 'user', userId: written };
  return isRole(written) ? { kind: written } : { kind: 'named', name: written };
}

function isRole(written: number | string): written is 'line' | 'agent' | 'nobody' {
  return written === 'line' || written === 'agent' || written === 'nobody';
}

const defaultDay: readonly Opening[] = [{ from: 9 * 60, to: 17 * 60 }];
type WrittenHours = NonNullable<RulesFile['business_hours']>;

function calendarsOf({ business_hours: written, offices = {} }: RulesFile, timeZone: string | undefined): Calendars {
  const zone = written?.time_zone ?? timeZone ?? 'UTC';
  const byDefault: WrittenHours = {
    monday: defaultDay,
    tuesday: defaultDay,
    wednesday: defaultDay,
    thursday: defaultDay,
    friday: defaultDay,
  } as WrittenHours;
  const main = businessHours(written ?? byDefault, zone);
  const others = Object.entries(offices).map(([name, { lines, ...office }]) => {
    const own = businessHours(office, office.time_zone ?? zone);
    const hasWeek = weekdays.some((day) => office[day] !== undefined);
    // An office that says anything about days replaces both lists: holidays of the main office aren't its half days.
    const hasDays = office.holidays !== undefined || office.days !== undefined;
    return { ...own, name, lines, week: hasWeek ? own.week : main.week, days: hasDays ? own.days : main.days };
  });
  return { ...main, offices: others };
}

function businessHours(written: WrittenHours, timeZone: string): BusinessHours {
  const openings = (name: Weekday): readonly Opening[] => written[name] ?? [];
  const closed = (written.holidays ?? []).map((day) => [day, []] as const);
  return {
    timeZone,
    week: Object.fromEntries(weekdays.map((name) => [name, openings(name)])) as unknown as BusinessHours['week'],
    days: new Map<string, readonly Opening[]>([...closed, ...Object.entries(written.days ?? {})]),
  };
}

/** The calendar whose dated days end first. */
function endOfDates({ business_hours: main, offices = {} }: RulesFile, positions: Positions): RuleSet['datesEnd'] {
  const calendars = [
    { written: main, path: ['business_hours'] },
    ...Object.entries(offices).map(([name, written]) => ({ written, path: ['offices', name] })),
  ];
  const ends = calendars.flatMap(({ written, path }) => {
    const dates = [...(written?.holidays ?? []), ...Object.keys(written?.days ?? {})].filter(
      (day) => day.length === 10,
    );
    const last = dates.sort().at(-1);
    return last === undefined ? [] : [{ last, ...positions.ofKey(path) }];
  });
  return ends.sort((a, b) => (a.last < b.last ? -1 : 1))[0];
}

function duplicateLines({ offices = {} }: RulesFile, positions: Positions): RulesProblem[] {
  const named = Object.entries(offices).flatMap(([office, { lines }]) =>
    lines.map((number, at) => ({ office, number, path: ['offices', office, 'lines', at] })),
  );
  return named.flatMap(({ number, path }, at) => {
    const first = named.findIndex((each) => each.number === number);
    const message = `${number} belongs to ${named[first]?.office} already.`;
    return first === at ? [] : [{ ...positions.ofValue(path), message, remedy: 'Name each line once.' }];
  });
}
