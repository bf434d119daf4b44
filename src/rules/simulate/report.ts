import { maskNumbers } from '../../shared/masking.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import type { Evaluation } from '../decide.ts';
import type { Case } from '../facts/read.ts';
import type { RuleSet } from '../rule.ts';
import type { ReplyOutcome } from './judge.ts';

/** What a rule would have done, in total or on a day. */
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
  /** Triggers that it was evaluated on. */
  tried: number;
  /** How often it did not match, by reason. */
  readonly unmatched: Record<string, number>;
  /** Replies that the ledger would have refused, by gate. */
  readonly blocked: Record<string, number>;
  /** Replies whose quiet hours end after the span. */
  held: number;
  /** Steps other than replies. */
  readonly actions: Record<string, number>;
  /** By local day of TIME_ZONE. */
  readonly days: Record<string, Tally>;
  readonly examples: Example[];
}

export interface Example {
  readonly at: Date;
  /** Line and number, masked to their last four digits. */
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

export interface ReportBuilder {
  /** Counts one evaluation, and the outcome of its reply if it has one. */
  add(each: Case, evaluation: Evaluation, reply?: ReplyOutcome): void;
  finish(): Report;
}

const none: Readonly<Tally> = { matched: 0, messages: 0, segments: 0, micros: 0 };

/** Examples of what a rule matched. */
const maxExamples = 3;

export function createReport(set: RuleSet, { from, to }: TimeRange<Date>): ReportBuilder {
  const rules = new Map(
    set.rules.map(({ name, on }): [string, RuleReport] => [
      name,
      { rule: name, on, tried: 0, ...none, unmatched: {}, blocked: {}, held: 0, actions: {}, days: {}, examples: [] },
    ]),
  );

  return {
    add({ facts, trigger, subject }, { rule, isMatched, reason, actions }, reply) {
      const report = rules.get(rule.name);
      if (!report) return;
      report.tried += 1;
      if (!isMatched) return count(report.unmatched, reason);
      const date = typeof facts === 'string' ? '' : (facts.hours?.date ?? '');
      report.days[date] ??= { ...none };
      for (const tally of [report, report.days[date]]) {
        tally.matched += 1;
        if (reply?.kind !== 'sent') continue;
        tally.messages += 1;
        tally.segments += reply.segments;
        tally.micros += reply.micros;
      }
      if (reply?.kind === 'held') report.held += 1;
      if (reply?.kind === 'denied') count(report.blocked, reply.reason);
      for (const { kind } of actions) {
        if (kind !== 'reply' && !(kind === 'resolve' && reply && reply.kind !== 'sent')) count(report.actions, kind);
      }
      if (report.examples.length >= maxExamples) return;
      report.examples.push({
        at: trigger.at,
        thread: subject ? maskNumbers(`${subject.line}/${subject.number}`) : '',
        text: actions.find((action) => action.kind === 'reply')?.text,
        outcome:
          reply?.kind === 'denied'
            ? `reply blocked: ${reply.reason}`
            : reply?.kind === 'held'
              ? 'reply held by quiet hours'
              : actions.map(({ kind }) => kind).join(', '),
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

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
