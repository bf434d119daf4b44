import { query, sql } from '../../src/db/database.ts';
import { markSends } from '../../src/ledger/send.ts';
import type { Facts } from './facts.ts';

type Values = Readonly<Record<string, unknown>>;

export const line = '15559990000';
/** The number of a conversation as `Facts.thread` makes it. */
export const numberOf = (conversation: number) => `1555100${String(conversation).padStart(4, '0')}`;

/** Of a send that never left. */
export const unsent = { reserved_at: null, dispatched_at: null, settled_micros: null, units: null, message_type: null };

/** What rules did, as a test states it. */
export interface RuleFacts {
  /** Evaluations of a rule, as they are counted; matched unless told otherwise. */
  run(
    rule: string,
    at: string,
    values?: { word?: string; count?: number; version?: string; mode?: string },
  ): Promise<void>;
  /** A text of a rule to the number of a conversation, planned and sent at once for a segment of $0.0079. */
  send(rule: string, at: string, conversation: number, values?: Values): Promise<void>;
  /** Changes sends, and marks the days of all as the ledger does. */
  change(statement: string): Promise<void>;
}

export function ruleFacts({ insert, db, ...facts }: Facts): RuleFacts {
  let last = 0;
  const mark = () => query(db, sql`${markSends('ops.sends')}`);
  return {
    async run(rule, at, { word = 'matched', count = 1, version = 'v1', mode = 'live' } = {}) {
      const counts = JSON.stringify([{ rule, mode, word, count }]);
      await insert('ops.rule_tallies', { happened_at: at, version, counts });
    },
    async change(statement) {
      await facts.query(statement);
      await mark();
    },
    async send(rule, at, conversation, values = {}) {
      last += 1;
      await insert('ops.sends', {
        ...{ rule, rule_version: 'v1', line, number: numberOf(conversation), trigger_kind: 'message' },
        ...{ trigger_id: `t${last}`, trigger_at: at, mode: 'live', body: 'text', state: 'SENT', expires_at: at },
        ...{ planned_at: at, reserved_at: at, dispatched_at: at, settled_at: at, units: 1, message_type: 'sms' },
        ...{ settled_micros: 7_900, ...values },
      });
      await mark();
    },
  };
}
