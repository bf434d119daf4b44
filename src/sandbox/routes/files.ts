import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { notFound } from '../http/errors.ts';

interface FilePath {
  Params: { file: string };
  Querystring: { signature?: string };
}

/** The audio and pictures behind the signed links of 2.6 and 2.10: no credential, the link is the secret. */
export function fileRoutes(app: FastifyInstance, { links, store }: Pick<Context, 'links' | 'store'>): void {
  const audio = silence(1);

  function requireSigned(request: FastifyRequest<FilePath>): void {
    const [path = ''] = request.url.split('?');
    if (!links.isSigned(path, request.query.signature ?? '')) throw notFound('the file');
  }

  app.get<FilePath>('/recordings/:file', (request, reply): FastifyReply => {
    requireSigned(request);
    return reply.type('audio/wav').send(audio);
  });

  app.get<FilePath>('/media/:file', (request, reply): FastifyReply => {
    requireSigned(request);
    const hosted = store.files.get(request.params.file);
    if (hosted === undefined) return reply.type('image/gif').send(pixel);
    return reply.type(hosted.contentType).send(Buffer.from(hosted.content, 'base64'));
  });
}

/** What the pictures show that the sandbox invented. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** A WAV file of so many seconds in which nothing is heard: 8 kHz, mono, 8 bits. */
function silence(seconds: number): Buffer {
  const samples = 8_000 * seconds;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 128)]);
}
