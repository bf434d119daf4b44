import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Settings } from '../../config/settings.ts';
import type { LinkSealer } from '../warehouse/links.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const textAt = nonceBytes + tagBytes;

/**
 * Encrypts links for storage: AES-256-GCM with a key derived from `secret`. The same link gives another value each
 * time.
 */
export function createSealer(secret: string): LinkSealer {
  const key = Buffer.from(hkdfSync('sha256', secret, 'trunkline', 'links at rest', 32));
  return {
    seal(link, belongsTo) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(belongsTo));
      const text = Buffer.concat([cipher.update(link, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    },
    open(sealed, belongsTo) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < textAt) return undefined;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(belongsTo))
        .setAuthTag(bytes.subarray(nonceBytes, textAt));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

/** The sealer of links. Without ENCRYPTION_KEY, derives its key from API_KEY, which no database dump contains. */
export function linkSealer({ api, encryptionKey }: Pick<Settings, 'api' | 'encryptionKey'>): LinkSealer | undefined {
  const secret = encryptionKey ?? api.key;
  return secret === undefined ? undefined : createSealer(secret);
}
