import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** The part of the memory budget held by one request. Disposing of it releases it. */
export interface BodyShare extends Disposable {
  /** Sets the number of bytes it holds. Returns false and changes nothing if the budget doesn't allow it. */
  resize(bytes: number): boolean;
}

/** Limits the bytes of bodies that this process holds at once, from their arrival to their commit. */
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
  /** The budget is used up. */
  | { readonly outcome: 'no_room' }
  /** The client disconnected. */
  | { readonly outcome: 'aborted' };

const empty: Buffer = Buffer.alloc(0);

/**
 * Reads a body. Bytes count against the share as they arrive; Content-Length reserves nothing. The server discards the
 * rest of a refused body and closes the connection. Never rejects.
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
    // One buffer that doubles its size: a million one-byte chunks would take a hundred times their size.
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
      // The rest is discarded without a listener, so that it doesn't block the answer.
      request.resume();
      resolve(outcome);
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/**
 * Opens a body that is sent as gzip. Undefined if the result exceeds `maxBytes`. A body that can't be opened is returned
 * unchanged, so that it can be stored. Synchronous on purpose: only one body is decompressed at a time, so many small
 * bodies that decompress to large ones can't add up in memory.
 */
export function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | undefined {
  try {
    return encoding?.toLowerCase() === 'gzip' ? gunzipSync(body, { maxOutputLength: maxBytes }) : body;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? undefined : body;
  }
}
