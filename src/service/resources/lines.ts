import type { Answer } from '../answers/envelope.ts';
import { requiredRows } from '../answers/fields.ts';
import { type Line, line } from '../entities/line.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

/** Section 4.1 and 4.3: the account's numbers that can text. */
export interface Lines {
  /** `GET /sms/lines`, scope sms:read. */
  list(call?: CallOptions): Promise<Answer<readonly Line[]>>;
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
  };
}
