import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HostedFile } from '../account.ts';
import { notFound } from '../http/errors.ts';
import type { Table } from '../store/table.ts';

/** Signed links of recordings and media: stable, without expiry, valid without a credential (2.10). */
export type Links = ReturnType<typeof createLinks>;

export function createLinks(baseUrl: () => string, seed: number) {
  const sign = (path: string) => createHmac('sha256', `links ${seed}`).update(path).digest('hex').slice(0, 32);
  const link = (path: string) => `${baseUrl()}${path}?signature=${sign(path)}`;
  return {
    recording: (uniqueId: string) => link(`/recordings/${uniqueId}.wav`),
    media: (file: string) => link(`/media/${encodeURIComponent(file)}`),
    /** Whether the signature is that of the path. */
    isSigned: (path: string, signature: string) => sign(path) === signature,
  };
}

interface FilePath {
  Params: { file: string };
  Querystring: { signature?: string };
}

/** The audio and pictures behind the signed links of 2.6 and 2.10. They need no credential. */
export function fileRoutes(
  app: FastifyInstance,
  { links, store }: { links: Links; store: { files: Table<string, HostedFile> } },
): void {
  function requireSigned(request: FastifyRequest<FilePath>): void {
    const [path = ''] = request.url.split('?');
    if (!links.isSigned(path, request.query.signature ?? '')) throw notFound('the file');
  }

  app.get<FilePath>('/recordings/:file', {
    handler: (request, reply): FastifyReply => {
      requireSigned(request);
      return reply.type('audio/wav').send(silence);
    },
  });

  app.get<FilePath>('/media/:file', {
    handler: (request, reply): FastifyReply => {
      requireSigned(request);
      const hosted = store.files.get(request.params.file);
      if (hosted === undefined) return reply.type('image/gif').send(pixel);
      return reply.type(hosted.contentType).send(Buffer.from(hosted.content, 'base64'));
    },
  });
}

/** The content of generated pictures. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** The content of recordings: a WAV file with a second of silence, 8 kHz, mono, 8 bits. */
const wavHeader = 'UklGRmQfAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YUAfAAA=';
const silence = Buffer.concat([Buffer.from(wavHeader, 'base64'), Buffer.alloc(8_000, 128)]);
