import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether the text can be an S256 challenge: base64url of a SHA-256 (5.3). */
export function isChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Whether the verifier is the one that the challenge was made of; RFC 7636 gives it 43 to 128 unreserved characters. */
export function proves(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const made = Buffer.from(createHash('sha256').update(verifier).digest('base64url'));
  const asked = Buffer.from(challenge);
  return made.length === asked.length && timingSafeEqual(made, asked);
}
