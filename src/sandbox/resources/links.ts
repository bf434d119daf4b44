import { createHmac, timingSafeEqual } from 'node:crypto';

/** Makes the signed links of recordings and media: stable, without expiry, good for whoever holds them (2.10). */
export interface Links {
  recording(uniqueId: string): string;
  media(file: string): string;
  /** Whether a signature belongs to a path that these links would make. */
  isSigned(path: string, signature: string): boolean;
}

export function createLinks(baseUrl: () => string, seed: number): Links {
  const sign = (path: string) => createHmac('sha256', `links ${seed}`).update(path).digest('hex').slice(0, 32);
  const link = (path: string) => `${baseUrl()}${path}?signature=${sign(path)}`;
  return {
    recording: (uniqueId) => link(`/recordings/${uniqueId}.wav`),
    media: (file) => link(`/media/${encodeURIComponent(file)}`),
    isSigned(path, signature) {
      const right = Buffer.from(sign(path));
      const given = Buffer.from(signature);
      return right.length === given.length && timingSafeEqual(right, given);
    },
  };
}
