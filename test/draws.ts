import fc from 'fast-check';
import { createRandom, type Random, seed } from './faults/random.ts';

// A test that fails does so again: properties draw the same in each `npm test`, and again in each `npm run faults`.
fc.configureGlobal({ seed });

let random: Random | undefined;

/** In [0, 1): instead of Math.random, whose draws cannot be repeated. */
export function draw(): number {
  random ??= createRandom('draws');
  return random.next();
}
