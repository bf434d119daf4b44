import { hash } from 'node:crypto';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type Condition, compileCondition, type Fault } from '../conditions/condition.ts';
import { createTemplates, type Template } from '../conditions/template.ts';
import { type BusinessHours, type Opening, type Weekday, weekdays } from '../facts/hours.ts';
import type { Assignee, NamedUser, Rule, RuleSet, Scope, Step } from '../rule.ts';
import { usualMaxAgeSeconds } from '../triggers.ts';
import { accountLimitsOf } from './budgets.ts';
import { doubtsAbout } from './doubts.ts';
import { allowanceOf, clockSpan, durationSeconds } from './durations.ts';
import { problemsOf } from './issues.ts';
import { type Places, placesOf } from './places.ts';
import { RulesError, type RulesProblem } from './problem.ts';
import { type RulesFile, ruleSchema, rulesSchema, type WrittenRule } from './schema.ts';
import { tagProblems, yamlProblems } from './yaml.ts';

export interface ParseOptions {
  /** As it stands in messages. */
  readonly file: string;
  /** IANA zone of the business hours and of times in templates. */
  readonly timeZone: string;
}

type Path = readonly PropertyKey[];

/**
 * Reads the text of a rules file, and tries every rule of it on samples. Throws one `RulesError` with all problems, in the
 * order of the file.
 */
export function parseRules(text: string, { file, timeZone }: ParseOptions): RuleSet {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const places = placesOf(text, document, lines);
  const tags = tagProblems(text, document, places);
  const isElsewhere = ({ line }: RulesProblem) => tags.every((tag) => tag.line !== line);
  if (document.errors.length > 0) {
    const found = yamlProblems(document, places).filter(isElsewhere);
    throw new RulesError(file, text, [...tags, ...found].sort(byPlace));
  }
  const written: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  const parsed = rulesSchema.safeParse(written);
  const problems: RulesProblem[] = parsed.success ? [] : problemsOf(parsed.error as z.ZodError, document, places);
  const warnings: RulesProblem[] = [];
  problems.push(...sameNames(written, places));
  const rules = parsed.success ? parsed.data.rules.map((rule, at) => ({ rule, at })) : wellFormed(written);
  const built = buildRules(rules, timeZone, places, { problems, warnings });
  if (!parsed.success || problems.length > 0 || tags.length > 0) {
    throw new RulesError(file, text, [...tags, ...problems.filter(isElsewhere)].sort(byPlace));
  }
  warnings.push(...doubtsAbout(built, places));
  return {
    version: hash('sha256', text).slice(0, 12),
    rules: built,
    hours: businessHours(parsed.data.business_hours, timeZone),
    accountLimits: accountLimitsOf(parsed.data.budgets, parsed.data.countries),
    users: namedUsers(parsed.data.rules, places),
    warnings: warnings.sort(byPlace),
  };
}

function namedUsers(rules: readonly WrittenRule[], places: Places): NamedUser[] {
  return rules.flatMap((rule, at) =>
    rule.do.flatMap(({ assign, resolve }, index): NamedUser[] => {
      const path = ['rules', at, 'do', index];
      const to = assign === undefined ? undefined : assigneeOf(assign);
      if (to?.kind === 'user') return [{ ...places.ofValue([...path, 'assign']), user: to.userId }];
      if (to?.kind === 'named') return [{ ...places.ofValue([...path, 'assign']), user: to.name }];
      const credited = typeof resolve === 'object' ? resolve.user : undefined;
      return credited === undefined ? [] : [{ ...places.ofValue([...path, 'resolve', 'user']), user: credited }];
    }),
  );
}

function byPlace(a: RulesProblem, b: RulesProblem): number {
  return a.line - b.line || a.column - b.column;
}

/** What was found while the rules were built. */
interface Findings {
  readonly problems: RulesProblem[];
  readonly warnings: RulesProblem[];
}

/** A rule that the schema takes, and its place among all of the file. */
interface Placed {
  readonly rule: WrittenRule;
  readonly at: number;
}

/** The rules that can be built and so be tried, even when something else in the file is wrong. */
function wellFormed(written: unknown): Placed[] {
  return rulesIn(written).flatMap((each, at) => {
    const { success, data } = ruleSchema.safeParse(each);
    return success ? [{ rule: data, at }] : [];
  });
}

function rulesIn(written: unknown): readonly unknown[] {
  const { rules } = written as { rules?: unknown };
  return Array.isArray(rules) ? rules : [];
}

function sameNames(written: unknown, places: Places): RulesProblem[] {
  const seen = new Map<string, number>();
  return rulesIn(written).flatMap((rule, at) => {
    const name = (rule as { name?: unknown } | null)?.name;
    if (typeof name !== 'string') return [];
    const place = places.ofValue(['rules', at, 'name']);
    const before = seen.get(name);
    seen.set(name, place.line);
    if (before === undefined) return [];
    const message = `There are two rules called ${name}.`;
    return [{ ...place, message, cure: `The other is in line ${before}: names are for one.` }];
  });
}

function buildRules(
  written: readonly Placed[],
  timeZone: string,
  places: Places,
  { problems, warnings }: Findings,
): Rule[] {
  const compileTemplate = createTemplates(timeZone);

  function compiled<T extends object>(path: Path, result: T | Fault): T {
    if ('offset' in result && 'cure' in result) {
      for (const { offset, message, cure } of [result, ...(result.others ?? [])]) {
        problems.push({ ...places.within(path, offset), message, cure });
      }
    }
    return result as T;
  }

  function conditionOf(rule: WrittenRule, path: Path): Condition | undefined {
    if (rule.if === undefined) return undefined;
    const condition = compiled(path, compileCondition(rule.on, rule.if, timeZone));
    for (const { offset, message, cure } of condition.warnings ?? []) {
      warnings.push({ ...places.within(path, offset), message, cure });
    }
    return condition;
  }

  return written.map(({ rule, at }) => {
    const path = ['rules', at];
    const template = (text: string, where: Path): Template => compiled(where, compileTemplate(rule.on, text));
    return {
      name: rule.name,
      description: rule.description,
      on: rule.on,
      idleSeconds: rule.for === undefined ? undefined : durationSeconds(rule.for),
      condition: conditionOf(rule, [...path, 'if']),
      steps: rule.do.map((step, index) => stepOf(step, [...path, 'do', index], template)),
      limits: limitsOf(rule),
      maxAgeSeconds:
        rule.limits?.max_age === undefined ? usualMaxAgeSeconds[rule.on] : durationSeconds(rule.limits.max_age),
      replyLimits: replyLimitsOf(rule),
      stops: rule.stop,
      mode: rule.mode,
    };
  });
}

function stepOf(step: WrittenRule['do'][number], path: Path, template: (text: string, where: Path) => Template): Step {
  if (step.reply !== undefined) return { kind: 'reply', text: template(step.reply, [...path, 'reply']) };
  if (step.comment !== undefined) return { kind: 'comment', text: template(step.comment, [...path, 'comment']) };
  if (step.assign !== undefined) return { kind: 'assign', to: assigneeOf(step.assign) };
  if (step.reopen !== undefined) return { kind: 'reopen' };
  if (step.block !== undefined) {
    const reason = step.block === true ? undefined : step.block.reason;
    return { kind: 'block', reason: reason === undefined ? undefined : template(reason, [...path, 'block', 'reason']) };
  }
  const { comment, user } = step.resolve === true || step.resolve === undefined ? {} : step.resolve;
  return {
    kind: 'resolve',
    comment: comment === undefined ? undefined : template(comment, [...path, 'resolve', 'comment']),
    userId: user,
  };
}

function assigneeOf(written: number | string): Assignee {
  if (typeof written === 'number') return { kind: 'user', userId: written };
  return written === 'line' || written === 'agent' || written === 'nobody'
    ? { kind: written }
    : { kind: 'named', name: written };
}

function limitsOf({ limits = {} }: WrittenRule): Rule['limits'] {
  const given: [Scope, string | undefined][] = [
    ['thread', limits.per_thread],
    ['line', limits.per_line],
    ['account', limits.per_account],
  ];
  return Object.fromEntries(given.flatMap(([scope, text]) => (text === undefined ? [] : [[scope, allowanceOf(text)]])));
}

function replyLimitsOf({ limits = {} }: WrittenRule): Rule['replyLimits'] {
  const { human_pause: pause, quiet_hours: quiet, same_texts: sameTexts, quick_answers: quickAnswers } = limits;
  const [from = '', to = ''] = quiet?.split('-') ?? [];
  return {
    ...(pause !== undefined && { humanMinutes: Math.ceil(durationSeconds(pause) / 60) }),
    ...(sameTexts !== undefined && { sameTexts }),
    ...(quickAnswers !== undefined && { quickAnswers }),
    ...(quiet !== undefined && { quietHours: quiet === 'none' ? quiet : { from, to: to === '24:00' ? '00:00' : to } }),
  };
}

const usualDay: readonly Opening[] = [clockSpan('09:00-17:00')];

function businessHours(written: RulesFile['business_hours'], timeZone: string): BusinessHours {
  const spans = (name: Weekday): readonly Opening[] => {
    if (written === undefined) return name === 'saturday' || name === 'sunday' ? [] : usualDay;
    const given = written[name] ?? [];
    return (typeof given === 'string' ? [given] : given).map(clockSpan).sort((a, b) => a.from - b.from);
  };
  return {
    timeZone,
    week: Object.fromEntries(weekdays.map((name) => [name, spans(name)])) as unknown as BusinessHours['week'],
    holidays: new Set(written?.holidays ?? []),
  };
}
