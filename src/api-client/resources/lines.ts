import { normalizeNumber } from '../../shared/numbers.ts';
import { nothing } from '../answers/envelope.ts';
import { listOf, one } from '../answers/fields.ts';
import { blockedSender, line, unreadCounts } from '../entities/texts.ts';
import { linesProblem, type Moment, momentProblem, momentText, numberProblem } from '../requests/parameters.ts';
import { type CallOptions, get, path, post } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Sections 4.1 and 4.3: the account's numbers that can text. An OAuth user needs the permission Phone numbers, and
 * `line` must be one of theirs: `permission_denied` otherwise.
 */
export function createLines({ repeatable }: Transport) {
  const at = (line: string) => path`/sms/lines/${normalizeNumber(line)}`;
  return {
    /** Scope sms:read: every number that `messages.send` takes as `from`. */
    list: (call?: CallOptions) =>
      repeatable(call, { name: 'lines.list', ...get`/sms/lines`, read: listOf('lines', line) }),
    /** Scope sms:write. Idempotent; no operation undoes it. The blocked party never sees the `reason`. */
    block: (line: string, { number, reason }: { number: string; reason?: string | undefined }, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.block',
        ...post`${at(line)}/blocked`,
        body: { number: normalizeNumber(number), reason },
        problem: numberProblem('line', line) ?? numberProblem('number', number),
        read: one('blocked', blockedSender),
      }),
    /** Scope sms:read. `not_found` when the number is not blocked. */
    blocked: (line: string, number: string, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.blocked',
        ...get`${at(line)}/blocked/${normalizeNumber(number)}`,
        problem: numberProblem('line', line) ?? numberProblem('number', number),
        read: one('blocked', blockedSender),
      }),
    /**
     * Scope messages:write: marks the line's messages read for the calling user, all of them or those `since` a moment.
     * An API key is refused with `invalid_request`.
     */
    markRead: (line: string, { since }: { since?: Moment | undefined } = {}, call?: CallOptions) =>
      repeatable(call, {
        name: 'lines.markRead',
        ...post`${at(line)}/read`,
        body: { since: momentText(since) },
        problem: numberProblem('line', line) ?? momentProblem('since', since),
        read: nothing,
      }),
  };
}

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
     * Scope messages:read; an OAuth user needs the permission Phone numbers. A user gets the counts of their own unread
     * messages, an API key those of the lines.
     */
    counts: ({ lines, since }: UnreadFilter = {}, call?: CallOptions) =>
      repeatable(call, {
        name: 'unread.counts',
        ...get`/sms/unread`,
        query: { lines: lines?.map(normalizeNumber).join(','), since: momentText(since) },
        problem: linesProblem(lines) ?? momentProblem('since', since),
        read: one('unread', unreadCounts),
      }),
  };
}
