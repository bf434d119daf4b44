/*
 * The life of a send (ops.sends):
 *
 *   rule ─▶ PLANNED ──gates, budget, fence + 1──▶ RESERVED ──fresh read; committed before the first byte──▶ DISPATCHED
 *            │  ▲ ▲                                 │  │                                                      │
 *            │  │ └───── lease over, or no read ────┘  │            ┌───────── one request, at most ──────────┤
 *            │  │                                      │            ▼                                         ▼
 *            │  └── HELD ◀── quiet hours, other sends ─┤     SENT, SKIPPED, REJECTED                       UNKNOWN
 *            │                                         │     NOT_SENT: PLANNED again,                        │
 *            └──▶ DENIED, EXPIRED ◀── a gate refuses ──┘     until it is too old                ┌────────────┤
 *                                                                                               ▼            ▼
 *                                     the operator settles: SENT, NOT_SENT ◀── NEEDS_HUMAN    SENT, found in the thread
 *
 * A send on a newer trigger takes the place of one that is PLANNED, HELD or RESERVED: this is DENIED, superseded.
 *
 * A crash leaves PLANNED and HELD as they are; of RESERVED the lease ends, and it is PLANNED again, since no request can
 * have left; of DISPATCHED it ends in UNKNOWN, since one may have. Nothing leads from UNKNOWN back to a request, but the
 * proof that none left, from the very try that made it.
 *
 * A thread has one send at a time that is on its way to a request, in each mode. An UNKNOWN one keeps others out for its first
 * three scheduled reads (the index sends_open names the number).
 */

/** SQL: `ops.sends s` stands in the way of other sends of its thread. The condition of the index sends_open. */
export const isOpenSend = `(s.state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED') or (s.state = 'UNKNOWN' and s.looks_count < 3))`;

/** Under way, waiting for the operator, or final. */
export const states = [
  'PLANNED',
  'HELD',
  'RESERVED',
  'DISPATCHED',
  'UNKNOWN',
  'NEEDS_HUMAN',
  'SENT',
  'SKIPPED',
  'REJECTED',
  'NOT_SENT',
  'DENIED',
  'EXPIRED',
] as const;
export type SendState = (typeof states)[number];

/** The states that each state may become. Whatever is not here is refused. */
export const nextStates: Readonly<Record<SendState, readonly SendState[]>> = {
  PLANNED: ['RESERVED', 'HELD', 'DENIED', 'EXPIRED'],
  HELD: ['RESERVED', 'HELD', 'DENIED', 'EXPIRED'],
  RESERVED: ['DISPATCHED', 'PLANNED', 'HELD', 'DENIED', 'EXPIRED'],
  DISPATCHED: ['SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN'],
  UNKNOWN: ['SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'NEEDS_HUMAN'],
  NEEDS_HUMAN: ['SENT', 'NOT_SENT'],
  NOT_SENT: ['PLANNED'],
  SENT: [],
  SKIPPED: [],
  REJECTED: [],
  DENIED: [],
  EXPIRED: [],
};
