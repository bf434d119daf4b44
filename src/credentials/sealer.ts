import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What a sealed value is for; it opens as nothing else. */
export type Purpose = 'oauth_tokens.access_token' | 'oauth_tokens.refresh_token' | 'oauth_logins.verifier';

/** Seals secrets for storing: AES-256-GCM under a key derived from ENCRYPTION_KEY. */
export interface Sealer {
  /** Never the same twice: each value has a nonce of its own. */
  seal(secret: string, purpose: Purpose): Buffer;
  /** Throws `WrongEncryptionKey` when it was sealed with another key or for another purpose, or was changed. */
  open(sealed: Buffer, purpose: Purpose): string;
}

/** What is stored was sealed with another ENCRYPTION_KEY. */
export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
  readonly code = 'encryption_key';

  constructor() {
    super(
      'The stored tokens cannot be opened with this ENCRYPTION_KEY: set the one that they were stored with, ' +
        'or log in again with `trunkline auth login`.',
    );
  }
}

const algorithm = 'aes-256-gcm';
/** The first byte of a sealed value, should its form ever change. */
const form = 1;
const nonceBytes = 12;
const tagBytes = 16;

export function createSealer(encryptionKey: string): Sealer {
  const key = Buffer.from(hkdfSync('sha256', encryptionKey, 'trunkline', 'credentials at rest', 32));
  return {
    seal(secret, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(purpose));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(form), nonce, cipher.getAuthTag(), text]);
    },
    open(sealed, purpose) {
      const textAt = 1 + nonceBytes + tagBytes;
      if (sealed.length < textAt || sealed[0] !== form) throw new WrongEncryptionKey();
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(sealed.subarray(1 + nonceBytes, textAt));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
      } catch {
        throw new WrongEncryptionKey();
      }
    },
  };
}
