import type { Facts } from './facts.ts';

type Values = Readonly<Record<string, unknown>>;

export const line = '15559990000';
/** The number of a conversation as `Facts.thread` makes it. */
export const numberOf = (conversation: number) => `1555100${String(conversation).padStart(4, '0')}`;

/** Of a send that never left. */
export const unsent = { reserved_at: null, dispatched_at: null, settled_micros: null, units: null, message_type: null };

/** What rules did, as a test states it. */
export interface RuleFacts {
  /** A run of a rule; matched unless it says why not. Answers with its id. */
  run(rule: string, at: string, values?: Values): Promise<string>;
  step(runId: string, values: Values): Promise<void>;
  /** A text of a rule to the number of a conversation, planned and sent at once for a segment of $0.0079. */
  send(rule: string, at: string, conversation: number, values?: Values): Promise<void>;
}

export function ruleFacts({ insert, value }: Facts): RuleFacts {
  let last = 0;
  return {
    async run(rule, at, values = {}) {
      last += 1;
      const isMatched = (values.reason ?? 'matched') === 'matched';
      await insert('ops.rule_runs', {
        ...{ rule, version: 'v1', trigger_kind: 'message_received', trigger_key: `k${last}`, trigger_at: at },
        ...{ evaluated_at: at, mode: 'live', is_matched: isMatched, reason: 'matched', ...values },
      });
      return String(await value('select max(run_id) from ops.rule_runs'));
    },
    async step(runId, values) {
      last += 1;
      await insert('ops.rule_actions', { run_id: runId, ordinal: last, kind: 'resolve', state: 'waiting', ...values });
    },
    async send(rule, at, conversation, values = {}) {
      last += 1;
      await insert('ops.sends', {
        ...{ rule, rule_version: 'v1', line, number: numberOf(conversation), trigger_kind: 'message' },
        ...{ trigger_id: `t${last}`, trigger_at: at, mode: 'live', body: 'text', state: 'SENT', expires_at: at },
        ...{ planned_at: at, reserved_at: at, dispatched_at: at, settled_at: at, units: 1, message_type: 'sms' },
        ...{ settled_micros: 7_900, ...values },
      });
    },
  };
}
