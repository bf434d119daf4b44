import type { Random } from '../random.ts';

export const contentTypes = [
  'application/json',
  'application/json; charset=latin1',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
];

/** A body that is no text of any kind. */
export function noise(random: Random): Buffer {
  return Buffer.from(Array.from({ length: random.between(0, 4_000) }, () => random.between(0, 255)));
}
