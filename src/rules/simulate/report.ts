import { maskNumbers } from '../../masking.ts';
import type { Decision } from '../decide.ts';
import type { Evaluation } from '../evaluate.ts';
import type { RuleSet } from '../rule.ts';
import type { Fate } from './gates.ts';
import type { Span } from './past.ts';

/** What a rule would have done, in whole or on a day. */
export interface Tally {
  matched: number;
  messages: number;
  segments: number;
  /** Micro-dollars, at most. */
  micros: number;
}

export interface RuleReport extends Tally {
  readonly rule: string;
  readonly on: string;
  /** Triggers that it was tried on. */
  tried: number;
  /** Why it did not match: how often. */
  readonly unmatched: Record<string, number>;
  /** Replies that the ledger would have refused, by gate. */
  readonly blocked: Record<string, number>;
  /** Replies whose quiet hours end after the span. */
  held: number;
  /** Steps besides replies. */
  readonly actions: Record<string, number>;
  /** By local day of TIME_ZONE. */
  readonly days: Record<string, Tally>;
  readonly examples: Example[];
}

export interface Example {
  readonly at: Date;
  /** The last four digits are left. */
  readonly thread: string;
  readonly text: string | undefined;
  readonly outcome: string;
}

export interface Report extends Tally {
  readonly from: Date;
  readonly to: Date;
  readonly version: string;
  readonly rules: readonly RuleReport[];
}

const usualExamples = 3;

export interface ReportBuilder {
  add(decision: Decision, evaluation: Evaluation, fate: Fate | undefined): void;
  finish(): Report;
}

export function createReport(set: RuleSet, options: Span & { readonly examples?: number }): ReportBuilder {
  const { from, to, examples = usualExamples } = options;
  const rules = new Map(
    set.rules.map(({ name, on }): [string, RuleReport] => [
      name,
      {
        rule: name,
        on,
        tried: 0,
        ...emptyTally(),
        unmatched: {},
        blocked: {},
        held: 0,
        actions: {},
        days: {},
        examples: [],
      },
    ]),
  );

  return {
    add({ case: { facts, trigger, subject } }, { rule, isMatched, reason, actions }, fate) {
      const report = rules.get(rule.name);
      if (!report) return;
      report.tried += 1;
      if (!isMatched) return count(report.unmatched, reason);
      const date = typeof facts === 'string' ? '' : (facts.hours?.date ?? '');
      report.days[date] ??= emptyTally();
      for (const tally of [report, report.days[date]]) {
        tally.matched += 1;
        if (fate?.kind !== 'sent') continue;
        tally.messages += 1;
        tally.segments += fate.segments;
        tally.micros += fate.micros;
      }
      if (fate?.kind === 'held') report.held += 1;
      if (fate?.kind === 'denied') count(report.blocked, fate.reason);
      for (const { kind } of actions) {
        if (kind !== 'reply' && !(kind === 'resolve' && fate && fate.kind !== 'sent')) count(report.actions, kind);
      }
      if (report.examples.length >= examples) return;
      const reply = actions.find(({ kind }) => kind === 'reply');
      report.examples.push({
        at: trigger.at,
        thread: subject ? maskNumbers(`${subject.line}/${subject.number}`) : '',
        text: reply?.kind === 'reply' ? reply.text : undefined,
        outcome: outcomeOf(
          actions.map(({ kind }) => kind),
          fate,
        ),
      });
    },
    finish() {
      const all = [...rules.values()];
      const sum = (name: keyof Tally) => all.reduce((total, each) => total + each[name], 0);
      return {
        from,
        to,
        version: set.version,
        matched: sum('matched'),
        messages: sum('messages'),
        segments: sum('segments'),
        micros: sum('micros'),
        rules: all,
      };
    },
  };
}

function outcomeOf(kinds: readonly string[], fate: Fate | undefined): string {
  if (fate?.kind === 'denied') return `reply blocked: ${fate.reason}`;
  if (fate?.kind === 'held') return 'reply held by quiet hours';
  return kinds.join(', ');
}

function emptyTally(): Tally {
  return { matched: 0, messages: 0, segments: 0, micros: 0 };
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
