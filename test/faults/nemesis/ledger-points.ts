import type { KillPoint, Step } from './kill-points.ts';
import type { Moment } from './trap.ts';
import type { Wires } from './wires.ts';

/** What is left of a send whose worker died at a point, once everything has settled. */
export type Remainder =
  /** No request had left: another worker sends it. */
  | 'sent'
  /** The request was carried out: it is found in the thread. */
  | 'reconciled'
  /** The request may have left and was not carried out: nobody ever sends it again by itself. */
  | 'unknown';

export interface LedgerPoint extends KillPoint {
  readonly remainder: Remainder;
  /** Its lease must be over before anybody goes on with it. */
  readonly leavesOpen: boolean;
}

/** Each step of a send's way, before and after its bytes, and the request itself in all its moments. */
export const ledgerPoints: readonly LedgerPoint[] = [
  ...at('planned', 'workerToPostgres', 'insert into ops.sends', { unasked: 'sent', unanswered: 'sent' }),
  ...at('reserved', 'workerToPostgres', parameter('RESERVED'), { unasked: 'sent', unanswered: 'sent' }),
  ...at('looked', 'workerToService', '/blocked/', { unasked: 'sent', unanswered: 'sent' }),
  ...at('dispatched', 'workerToPostgres', parameter('DISPATCHED'), { unasked: 'sent', unanswered: 'sent' }),
  ...at('posted', 'workerToService', 'POST /api/public/v1/sms/messages', {
    unasked: 'unknown',
    'half asked': 'unknown',
    unanswered: 'reconciled',
    'half answered': 'reconciled',
  }),
  ...at('settled', 'workerToPostgres', parameter('SENT'), { unasked: 'reconciled', unanswered: 'reconciled' }),
];

/** A text as it passes among a statement's parameters: its length goes before it, so that no other text is taken for it. */
function parameter(text: string): string {
  return `\0\0\0${String.fromCharCode(text.length)}${text}`;
}

function at(
  step: Step,
  wire: keyof Wires,
  words: string,
  remainders: Readonly<Partial<Record<Moment, Remainder>>>,
): LedgerPoint[] {
  return Object.entries(remainders).map(([when, remainder]) => ({
    step,
    victim: 'worker',
    wire,
    trap: { words, when: when as Moment },
    remainder,
    leavesOpen: step !== 'planned' && step !== 'reserved',
  }));
}
