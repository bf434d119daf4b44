import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import type { SealLink } from '../warehouse/links.ts';

/** What a sealed value is for. It cannot be opened for another purpose. */
export type Purpose =
  | 'oauth_tokens.access_token'
  | 'oauth_tokens.refresh_token'
  | 'oauth_logins.verifier'
  | `link ${string}`;

/** Encrypts secrets for storage: AES-256-GCM with a key derived from ENCRYPTION_KEY. */
export interface Sealer {
  /** Randomized: sealing the same secret again gives another value. */
  seal(secret: string, purpose: Purpose): Buffer;
  /** Throws `WrongEncryptionKey` when it was sealed with another key or for another purpose, or was changed. */
  open(sealed: Buffer, purpose: Purpose): string;
  /** Deterministic for one address in one row (`table key …`), so that storing it again changes nothing. */
  sealLink: SealLink;
  openLink(sealed: string, row: string): string;
  /** The prefix of every value, and of every link, sealed with the current key. */
  readonly beginning: Buffer;
  readonly linkBeginning: string;
  /** Names the current key without revealing it. */
  readonly keyName: string;
}

/** A stored value was sealed with another ENCRYPTION_KEY. */
export class WrongEncryptionKey extends UserError {
  constructor() {
    super(
      'The stored tokens cannot be opened with this ENCRYPTION_KEY: set the one that they were stored with, ' +
        `or log in again with ${toType('auth login')}.`,
    );
  }
}

const algorithm = 'aes-256-gcm';
/** The first byte of a sealed value is its format version; the key's name follows. */
const form = 1;
const nameBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;
const nonceAt = 1 + nameBytes;
const textAt = nonceAt + nonceBytes + tagBytes;
const linkForm = 'sealed';

interface Key {
  readonly name: string;
  readonly beginning: Buffer;
  readonly linkBeginning: string;
  readonly encryption: Buffer;
  readonly nonces: Buffer;
}

/** Seals with the first key; opens values sealed with any of the keys. */
export function createSealer(encryptionKey: string, ...previous: readonly (string | undefined)[]): Sealer {
  const present = deriveKey(encryptionKey);
  const keys = [present, ...previous.filter((key) => key !== undefined).map(deriveKey)];

  function sealWith(secret: string, purpose: Purpose, nonce: Buffer): Buffer {
    const cipher = createCipheriv(algorithm, present.encryption, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(purpose));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([present.beginning, nonce, cipher.getAuthTag(), text]);
  }

  function open(sealed: Buffer, purpose: Purpose): string {
    const key = keys.find(({ beginning }) => beginning.equals(sealed.subarray(0, nonceAt)));
    if (!key || sealed.length < textAt) throw new WrongEncryptionKey();
    const nonce = sealed.subarray(nonceAt, nonceAt + nonceBytes);
    const decipher = createDecipheriv(algorithm, key.encryption, nonce, { authTagLength: tagBytes })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(nonceAt + nonceBytes, textAt));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
    } catch {
      throw new WrongEncryptionKey();
    }
  }

  return {
    seal: (secret, purpose) => sealWith(secret, purpose, randomBytes(nonceBytes)),
    open,
    sealLink(url, row) {
      // The nonce is a keyed hash of address and row: different inputs get different nonces.
      const hash = createHmac('sha256', present.nonces)
        .update(JSON.stringify([row, url]))
        .digest();
      const sealed = sealWith(url, `link ${row}`, hash.subarray(0, nonceBytes));
      return `${present.linkBeginning}${sealed.subarray(nonceAt).toString('base64url')}`;
    },
    openLink(sealed, row) {
      const key = keys.find(({ linkBeginning }) => sealed.startsWith(linkBeginning));
      if (!key) throw new WrongEncryptionKey();
      const rest = Buffer.from(sealed.slice(key.linkBeginning.length), 'base64url');
      return open(Buffer.concat([key.beginning, rest]), `link ${row}`);
    },
    beginning: present.beginning,
    linkBeginning: present.linkBeginning,
    keyName: present.name,
  };
}

function deriveKey(text: string): Key {
  const derive = (use: string, bytes: number) => Buffer.from(hkdfSync('sha256', text, 'trunkline', use, bytes));
  const name = derive('the name of the key', nameBytes);
  return {
    name: name.toString('hex'),
    beginning: Buffer.concat([Buffer.of(form), name]),
    linkBeginning: `${linkForm}:${name.toString('hex')}:`,
    encryption: derive('credentials at rest', 32),
    nonces: derive('nonces of links', 32),
  };
}

/** The settings for keys. */
export interface KeySettings {
  readonly api: { readonly key: string | undefined };
  readonly encryptionKey: string | undefined;
  readonly encryptionKeyPrevious?: string | undefined;
}

/** The sealer for the tokens of a login; undefined without ENCRYPTION_KEY. */
export function tokenSealer({ encryptionKey, encryptionKeyPrevious }: Omit<KeySettings, 'api'>): Sealer | undefined {
  return encryptionKey === undefined ? undefined : createSealer(encryptionKey, encryptionKeyPrevious);
}

/**
 * The sealer for addresses of recordings and media. Without ENCRYPTION_KEY its key is derived from API_KEY, which a
 * database dump does not hold either: after API_KEY changes, the addresses are unreadable until they are fetched again.
 */
export function linkSealer({ api, encryptionKey, encryptionKeyPrevious }: KeySettings): Sealer | undefined {
  const [present, ...others] = [encryptionKey, encryptionKeyPrevious, api.key].filter((key) => key !== undefined);
  return present === undefined ? undefined : createSealer(present, ...others);
}
