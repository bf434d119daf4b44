import { readdirSync, readFileSync } from 'node:fs';
import { type DeliveryFacts, extract } from '../../src/webhooks/extract.ts';

const folder = new URL('./fixtures/', import.meta.url);
const ourLines = new Set(['18457511133', '18457511144']);

export const fixtureNames = readdirSync(folder);

export function fixture(name: string): Buffer {
  return readFileSync(new URL(name, folder));
}

export function isOurLine(number: string): boolean {
  return ourLines.has(number);
}

/** What comes of a body posted to the path of `pathType` in an account with two lines. */
export function received(body: Buffer | string, pathType?: string): DeliveryFacts {
  return extract({ pathType, query: '', body: Buffer.from(body) }, isOurLine);
}
