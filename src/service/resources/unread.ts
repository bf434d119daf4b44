import { normalizeNumber } from '../../numbers.ts';
import type { Answer } from '../answers/envelope.ts';
import { requiredEntity } from '../answers/fields.ts';
import { type UnreadCounts, unreadCounts } from '../entities/unread.ts';
import { linesFault } from '../requests/numbers.ts';
import { type Moment, momentFault, momentText } from '../requests/windows.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

export interface UnreadFilter {
  /** Left out: all lines. An empty list is refused, because the service would take it for all. */
  lines?: readonly string[] | undefined;
  /** Only messages after it count. */
  since?: Moment | undefined;
}

/** Section 4.3: how much is unread. */
export interface Unread {
  /**
   * `GET /sms/unread`, scope messages:read; an OAuth user needs the permission Phone numbers. A user's own unread
   * messages; an API key has none of its own and gets those of the lines.
   */
  counts(filter?: UnreadFilter, call?: CallOptions): Promise<Answer<UnreadCounts>>;
}

export function createUnread(transport: Transport): Unread {
  return {
    counts: ({ lines, since } = {}, call) =>
      transport.repeatable(
        {
          name: 'unread.counts',
          method: 'GET',
          path: path`/sms/unread`,
          query: { lines: lines?.map(normalizeNumber).join(','), since: momentText(since) },
          fault: linesFault(lines) ?? momentFault('since', since),
          read: (data, reading) => requiredEntity(data, unreadCounts, reading, 'unread'),
        },
        call,
      ),
  };
}
