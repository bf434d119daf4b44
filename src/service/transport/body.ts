import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { Dispatcher } from 'undici';

type Body = Dispatcher.ResponseData['body'];

/** The body is larger than the cap, as sent or once decoded. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The body's encoding is unknown, or it does not decode. */
export class BodyUndecodable extends Error {
  override readonly name = 'BodyUndecodable';
}

const gunzipAll = promisify(gunzip);
const inflateAll = promisify(inflate);
const inflateRawAll = promisify(inflateRaw);
const unbrotliAll = promisify(brotliDecompress);

/** The encodings that `decode` undoes, for `Accept-Encoding`. */
export const acceptedEncodings = 'gzip, br, deflate';

/** Collects a body as it was sent, and stops listening as soon as it exceeds `maxBytes`. */
export function collect(body: Body, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) body.destroy(new BodyTooLarge(`more than ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    body.on('error', reject);
    body.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
  });
}

/** Decodes a body to text; zlib itself stops at `maxBytes`, so a small bomb never becomes a large buffer. */
export async function decode(sent: Buffer, encoding: string, maxBytes: number): Promise<string> {
  const named = encoding.trim().toLowerCase();
  if (named === '' || named === 'identity' || sent.length === 0) return sent.toString('utf8');
  const decoded = await atOnce(() => decompress(sent, named, { maxOutputLength: maxBytes })).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new BodyTooLarge(`more than ${maxBytes} bytes once decoded`);
    }
    throw error instanceof BodyUndecodable ? error : new BodyUndecodable(`${named} does not decode`, { cause: error });
  });
  return decoded.toString('utf8');
}

/** The cap is for one body; dozens of bombs that decode together would still be too much memory. */
const mostDecoding = 2;
let decoding = 0;
const waiting: (() => void)[] = [];

async function atOnce<T>(work: () => Promise<T>): Promise<T> {
  if (decoding >= mostDecoding) await new Promise<void>((resolve) => waiting.push(resolve));
  else decoding += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    // A place is handed on rather than given back, so that nobody slips in between.
    if (next) next();
    else decoding -= 1;
  }
}

async function decompress(sent: Buffer, encoding: string, limits: { maxOutputLength: number }): Promise<Buffer> {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return gunzipAll(sent, limits);
    case 'br':
      return unbrotliAll(sent, limits);
    case 'deflate':
      // Servers send it with the zlib header, as specified, or bare; the header's low four bits are 8.
      return ((sent[0] ?? 0) & 0x0f) === 8 ? inflateAll(sent, limits) : inflateRawAll(sent, limits);
    default:
      throw new BodyUndecodable(`the encoding ${JSON.stringify(encoding.slice(0, 30))} was not asked for`);
  }
}
