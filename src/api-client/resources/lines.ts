import { normalizeNumber } from '../../shared/numbers.ts';
import { nothing, type Read } from '../answers/envelope.ts';
import { requiredEntity, requiredRows } from '../answers/fields.ts';
import { type BlockedSender, blockedSender, line, unreadCounts } from '../entities/texts.ts';
import { linesProblem, type Moment, momentProblem, momentText, numberProblem } from '../requests/parameters.ts';
import { type CallOptions, path } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Sections 4.1 and 4.3: the account's numbers that can text. An OAuth user needs the permission Phone numbers, and
 * `line` must be one of theirs: `permission_denied` otherwise.
 */
export function createLines({ repeatable }: Transport) {
  return {
    /** `GET /sms/lines`, scope sms:read: every number that `messages.send` takes as `from`. */
    list: (call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.list',
        method: 'GET',
        path: path`/sms/lines`,
        read: (data, report) => requiredRows(data, line, report, 'lines'),
      }),
    /**
     * `POST /sms/lines/{line}/blocked`, scope sms:write. Idempotent; no operation undoes it. The blocked party never
     * sees the `reason`.
     */
    block: (line: string, { number, reason }: { number: string; reason?: string | undefined }, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.block',
        method: 'POST',
        path: path`/sms/lines/${normalizeNumber(line)}/blocked`,
        body: { number: normalizeNumber(number), reason },
        problem: numberProblem('line', line) ?? numberProblem('number', number),
        read: readBlocked,
      }),
    /** `GET /sms/lines/{line}/blocked/{number}`, scope sms:read. `not_found` when the number is not blocked. */
    blocked: (line: string, number: string, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.blocked',
        method: 'GET',
        path: path`/sms/lines/${normalizeNumber(line)}/blocked/${normalizeNumber(number)}`,
        problem: numberProblem('line', line) ?? numberProblem('number', number),
        read: readBlocked,
      }),
    /**
     * `POST /sms/lines/{line}/read`, scope messages:write: marks the line's messages read for the calling user, all of
     * them or those `since` a moment. An API key is refused with `invalid_request`.
     */
    markRead: (line: string, { since }: { since?: Moment | undefined } = {}, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.markRead',
        method: 'POST',
        path: path`/sms/lines/${normalizeNumber(line)}/read`,
        body: { since: momentText(since) },
        problem: numberProblem('line', line) ?? momentProblem('since', since),
        read: nothing,
      }),
  };
}

const readBlocked: Read<BlockedSender> = (data, report) => requiredEntity(data, blockedSender, report, 'blocked');

interface UnreadFilter {
  /** Default: all lines. An empty list is refused, because the service would take it for all. */
  lines?: readonly string[] | undefined;
  /** Only messages after it count. */
  since?: Moment | undefined;
}

/** Section 4.3: how much is unread. */
export function createUnread({ repeatable }: Transport) {
  return {
    /**
     * `GET /sms/unread`, scope messages:read; an OAuth user needs the permission Phone numbers. A user gets the counts
     * of their own unread messages, an API key those of the lines.
     */
    counts: ({ lines, since }: UnreadFilter = {}, call?: CallOptions) =>
      repeatable(call, {
        name: 'unread.counts',
        method: 'GET',
        path: path`/sms/unread`,
        query: { lines: lines?.map(normalizeNumber).join(','), since: momentText(since) },
        problem: linesProblem(lines) ?? momentProblem('since', since),
        read: (data, report) => requiredEntity(data, unreadCounts, report, 'unread'),
      }),
  };
}
