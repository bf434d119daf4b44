import type { Answer } from '../answers/envelope.ts';
import { requiredEntity } from '../answers/fields.ts';
import { type Sent, sent } from '../entities/sent.ts';
import { type SendRequest, sendBody, sendFault } from '../requests/sending.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

/** Section 4.1: the one operation that costs money. */
export interface Messages {
  /**
   * `POST /sms/messages`, scope sms:send; an OAuth user needs the permission Phone numbers, and `from` must be one of
   * theirs. Bills the account: status 201 is sent and charged, 200 is every recipient skipped and nothing charged.
   *
   * Leaves at most once, whatever comes back. A `ServiceError` with effect `none` proves that nothing was sent or
   * charged; with effect `unknown` and the advice `reconcile` (a timeout, a broken connection, an answer that is not the
   * service's own) the message may have been: read the thread to find out, and never send it again for that reason. Refused without asking (`invalid_request`): what breaks a
   * limit of section 8. Refused by the service: `permission_denied` for a `from` that is not yours or has no SMS,
   * `invalid_request` with status 422 when no rate applies to a destination.
   *
   * `skipped[].to` holds a recipient as it was given here. One that is no phone number is not refused: the service skips it
   * as `invalid`.
   */
  send(request: SendRequest, call?: CallOptions): Promise<Answer<Sent>>;
}

export function createMessages(transport: Transport): Messages {
  return {
    send: (request, call) =>
      transport.once(
        {
          name: 'messages.send',
          method: 'POST',
          path: path`/sms/messages`,
          body: sendBody(request),
          fault: sendFault(request),
          failsClean: true,
          read: (data, reading) => requiredEntity(data, sent, reading, 'sent'),
        },
        call,
      ),
  };
}
