import type { IncomingMessage, ServerResponse } from 'node:http';

/** Memory that one request takes of the budget. To dispose of it gives all of it back, once. */
export interface BodyShare extends Disposable {
  /** Takes so many bytes instead of what it took before. False, and nothing changes, where the budget does not allow it. */
  resize(bytes: number): boolean;
}

/** The bytes of bodies that this process may hold at a time, whether they arrive, are opened or wait for their commit. */
export interface BodyBudget {
  readonly held: number;
  share(): BodyShare;
}

export function createBodyBudget(maxBytes: number): BodyBudget {
  let held = 0;
  return {
    get held() {
      return held;
    },
    share() {
      let own = 0;
      return {
        resize(bytes) {
          if (bytes > own && held + bytes - own > maxBytes) return false;
          held += bytes - own;
          own = bytes;
          return true;
        },
        [Symbol.dispose]() {
          held -= own;
          own = 0;
        },
      };
    },
  };
}

export type ReadBody =
  | { readonly outcome: 'read'; readonly body: Buffer }
  | { readonly outcome: 'too_large' }
  /** The budget is spent. */
  | { readonly outcome: 'no_room' }
  /** The client went away. */
  | { readonly outcome: 'aborted' };

const empty: Buffer = Buffer.alloc(0);

/**
 * Reads a body into the share, which counts each byte as it arrives: what a client announces reserves nothing. What is not
 * read is left to the server, which throws it away and closes the connection. Never rejects.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { share, maxBytes }: { share: BodyShare; maxBytes: number },
): Promise<ReadBody> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve({ outcome: 'too_large' });
  if (request.destroyed) return Promise.resolve({ outcome: 'aborted' });
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve) => {
    // One buffer that doubles, since a million chunks of a byte would take a hundred times their size.
    let body = empty;
    let size = 0;
    const onData = (chunk: Buffer) => {
      const needed = size + chunk.length;
      if (needed > maxBytes) return end({ outcome: 'too_large' });
      if (needed > body.length) {
        const capacity = size === 0 ? needed : Math.min(maxBytes, Math.max(needed, 2 * body.length));
        if (!share.resize(capacity)) return end({ outcome: 'no_room' });
        if (size === 0) body = chunk;
        else {
          const larger = Buffer.allocUnsafeSlow(capacity);
          body.copy(larger, 0, 0, size);
          body = larger;
        }
      }
      if (body !== chunk) chunk.copy(body, size);
      size = needed;
    };
    const onEnd = () => end({ outcome: 'read', body: body.subarray(0, size) });
    const onClose = () => end({ outcome: 'aborted' });
    const end = (outcome: ReadBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      // Flows on without a listener, so that the rest does not stand in the way of the answer.
      request.resume();
      resolve(outcome);
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}
