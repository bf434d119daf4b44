import { maskNumbers } from '../../shared/masking.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import type { Evaluation } from '../decide.ts';
import type { Case } from '../facts/read.ts';
import { type RuleSet, stepName } from '../rule.ts';
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
  /** A person would have to approve its replies. */
  readonly isApprovalNeeded: boolean;
  /** Triggers on which it was evaluated. */
  tried: number;
  /** How often it didn't match, by reason. */
  readonly unmatched: Record<string, number>;
  /** Replies that the ledger would have refused, by gate. */
  readonly blocked: Record<string, number>;
  /** Replies that would have waited for the end of their quiet hours. */
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
  /** The id of the call, or of their newest text then. */
  readonly id: string;
  readonly text: string | undefined;
  readonly outcome: string;
  /** Why the ledger would have refused the reply: a code. */
  readonly reason?: string;
}

export interface Report extends Tally {
  readonly from: Date;
  readonly to: Date;
  readonly version: string;
  readonly rules: readonly RuleReport[];
}

const none: Readonly<Tally> = { matched: 0, messages: 0, segments: 0, micros: 0 };

/** Examples of what a rule matched. */
const maxExamples = 3;

/** A report without counts, and a function that counts an evaluation with the outcome of its reply. */
export function createReport({ version, rules }: RuleSet, { from, to }: TimeRange<Date>) {
  const reports = rules.map(
    ({ name, on, replyLimits }): RuleReport => ({
      ...{
        rule: name,
        on,
        isApprovalNeeded: replyLimits.approval !== undefined,
        tried: 0,
        ...none,
        unmatched: {},
        blocked: {},
        held: 0,
        actions: {},
        days: {},
        examples: [],
      },
    }),
  );
  const byName = new Map(reports.map((each) => [each.rule, each]));
  const total: Report = { from, to, version, ...none, rules: reports };

  return {
    report: total,
    count({ facts, trigger, subject }: Case, { rule, isMatched, reason, actions }: Evaluation, reply?: ReplyOutcome) {
      const report = byName.get(rule.name);
      if (!report) return;
      report.tried += 1;
      if (!isMatched) return increment(report.unmatched, reason);
      const date = typeof facts === 'string' ? '' : (facts.hours?.date ?? '');
      report.days[date] ??= { ...none };
      for (const tally of [total, report, report.days[date]]) {
        tally.matched += 1;
        if (reply?.kind !== 'sent') continue;
        tally.messages += 1;
        tally.segments += reply.segments;
        tally.micros += reply.micros;
      }
      if (reply?.kind === 'sent' && reply.heldUntil) report.held += 1;
      if (reply?.kind === 'denied') increment(report.blocked, reply.reason);
      for (const action of actions) {
        if (action.kind !== 'reply' && !(action.kind === 'resolve' && reply && reply.kind !== 'sent'))
          increment(report.actions, stepName(action));
      }
      if (report.examples.length >= maxExamples || !subject) return;
      report.examples.push({
        at: trigger.at,
        thread: maskNumbers(`${subject.line}/${subject.number}`),
        id: subject.callId ?? subject.lastMessageId,
        text: (actions.find((action) => action.kind === 'reply') ?? actions.find((action) => action.kind === 'notify'))
          ?.text,
        outcome:
          reply?.kind === 'denied'
            ? 'reply blocked'
            : reply?.heldUntil
              ? 'reply held by quiet hours'
              : actions.map(stepName).join(', '),
        ...(reply?.kind === 'denied' && { reason: reply.reason }),
      });
    },
  };
}

function increment(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
