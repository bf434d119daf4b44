import { normalizeNumber } from '../../numbers.ts';
import { type Answer, nothing, type Read } from '../answers/envelope.ts';
import { requiredEntity, requiredRows } from '../answers/fields.ts';
import { type BlockedSender, blockedSender } from '../entities/blocked-sender.ts';
import { type Line, line } from '../entities/line.ts';
import { numberFault } from '../requests/numbers.ts';
import { type Moment, momentFault, momentText } from '../requests/windows.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

export interface Block {
  number: string;
  /** Never shown to the blocked party. */
  reason?: string | undefined;
}

export interface ReadSpan {
  /** Left out: everything. */
  since?: Moment | undefined;
}

/**
 * Sections 4.1 and 4.3: the account's numbers that can text. An OAuth user needs the permission Phone numbers, and `line`
 * must be one of theirs: `permission_denied` otherwise.
 */
export interface Lines {
  /** `GET /sms/lines`, scope sms:read: every number that `messages.send` takes as `from`. */
  list(call?: CallOptions): Promise<Answer<readonly Line[]>>;
  /** `POST /sms/lines/{line}/blocked`, scope sms:write. Blocking twice is blocking once; no operation undoes it. */
  block(line: string, block: Block, call?: CallOptions): Promise<Answer<BlockedSender>>;
  /** `GET /sms/lines/{line}/blocked/{number}`, scope sms:read. `not_found` when the number is not blocked. */
  blocked(line: string, number: string, call?: CallOptions): Promise<Answer<BlockedSender>>;
  /**
   * `POST /sms/lines/{line}/read`, scope messages:write: marks the line's messages read for the calling user. Needs a
   * user's credential: an API key is refused with `invalid_request`.
   */
  markRead(line: string, span?: ReadSpan, call?: CallOptions): Promise<Answer<void>>;
}

export function createLines(transport: Transport): Lines {
  return {
    list: (call) =>
      transport.repeatable(
        {
          name: 'lines.list',
          method: 'GET',
          path: path`/sms/lines`,
          read: (data, reading) => requiredRows(data, line, reading, 'lines'),
        },
        call,
      ),
    block: (line, { number, reason }, call) =>
      transport.repeatable(
        {
          name: 'lines.block',
          method: 'POST',
          path: path`/sms/lines/${normalizeNumber(line)}/blocked`,
          body: { number: normalizeNumber(number), reason },
          fault: numberFault('line', line) ?? numberFault('number', number),
          read: readBlocked,
        },
        call,
      ),
    blocked: (line, number, call) =>
      transport.repeatable(
        {
          name: 'lines.blocked',
          method: 'GET',
          path: path`/sms/lines/${normalizeNumber(line)}/blocked/${normalizeNumber(number)}`,
          fault: numberFault('line', line) ?? numberFault('number', number),
          read: readBlocked,
        },
        call,
      ),
    markRead: (line, { since } = {}, call) =>
      transport.repeatable(
        {
          name: 'lines.markRead',
          method: 'POST',
          path: path`/sms/lines/${normalizeNumber(line)}/read`,
          body: { since: momentText(since) },
          fault: numberFault('line', line) ?? momentFault('since', since),
          read: nothing,
        },
        call,
      ),
  };
}

const readBlocked: Read<BlockedSender> = (data, reading) => requiredEntity(data, blockedSender, reading, 'blocked');
