import fc from 'fast-check';
import { seed } from './faults/random.ts';

// A test that fails does so again: properties draw the same in each `npm test`, and again in each `npm run faults`.
fc.configureGlobal({ seed });
