import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';

/** What a body says once its encodings are taken off. */
export type Opened =
  | { readonly outcome: 'opened'; readonly body: Buffer }
  /** It would open to more than was allowed. */
  | { readonly outcome: 'too_large' };

type Opener = (body: Buffer, mostBytes: number) => Buffer;

// What stands before a cut is worth having: the flush mode makes an end that is missing no error.
const zlib = (mostBytes: number) => ({ maxOutputLength: mostBytes, finishFlush: constants.Z_SYNC_FLUSH });
const gunzip: Opener = (body, most) => gunzipSync(body, zlib(most));

const openers: Readonly<Record<string, Opener>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  // Many senders leave out the header that RFC 9110 asks for.
  deflate: (body, most) =>
    ((body[0] ?? 0) & 0x0f) === 8 ? inflateSync(body, zlib(most)) : inflateRawSync(body, zlib(most)),
  br: (body, most) =>
    brotliDecompressSync(body, { maxOutputLength: most, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: (body, most) => zstdDecompressSync(body, { maxOutputLength: most, finishFlush: constants.ZSTD_e_flush }),
};

/** Nobody encodes more often; a longer list is made up. */
const mostEncodings = 3;

/**
 * Takes the encodings of a `Content-Encoding` off a body, and UTF-16 too, the last one applied first; gzip tells itself
 * where none is named. What cannot be opened is answered as it came, so that it can be kept. At work it holds up the
 * event loop for some milliseconds, and never holds more than `mostBytes` of one body: many small bodies that open to
 * much cannot add up.
 */
export function openBody(body: Buffer, contentEncoding: string | undefined, mostBytes: number): Opened {
  const named = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity');
  const encodings = named.length === 0 && isGzip(body) ? ['gzip'] : named;
  if (encodings.length > mostEncodings) return { outcome: 'opened', body };
  let opened = body;
  for (const encoding of encodings.toReversed()) {
    const open = Object.hasOwn(openers, encoding) ? openers[encoding] : undefined;
    if (open === undefined) return { outcome: 'opened', body };
    try {
      const inner = open(opened, mostBytes);
      if (inner.length === 0 && opened.length > 0) return { outcome: 'opened', body };
      opened = inner;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return { outcome: 'too_large' };
      return { outcome: 'opened', body };
    }
  }
  return { outcome: 'opened', body: inUtf8(opened) };
}

function isGzip(body: Buffer): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

function inUtf8(body: Buffer): Buffer {
  const encoding = utf16Of(body);
  return encoding === undefined ? body : Buffer.from(new TextDecoder(encoding).decode(body));
}

/** UTF-16 tells itself by its mark, or by the zeros beside the two plain characters that JSON and forms begin with. */
function utf16Of(body: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const mark = body.length < 2 ? 0 : body.readUInt16BE(0);
  if (mark === 0xfffe) return 'utf-16le';
  if (mark === 0xfeff) return 'utf-16be';
  const [first = 0, second = 0, third = 0, fourth = 0] = body;
  if (isPlain(first) && second === 0 && isPlain(third) && fourth === 0) return 'utf-16le';
  return first === 0 && isPlain(second) && third === 0 && isPlain(fourth) ? 'utf-16be' : undefined;
}

function isPlain(byte: number): boolean {
  return byte >= 0x09 && byte <= 0x7e;
}
