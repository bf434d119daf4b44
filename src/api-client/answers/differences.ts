import { pathOf, type Report } from './values.ts';

/** Some answers use data as keys: each key would be another difference. */
const maxTold = 1_000;

/** Logs how answers differ from the specification, each difference once. */
export function createDifferenceLog(log: { info(fields: object, message: string): void }) {
  const told = new Set<string>();
  return (operation: string): Report =>
    (what, parent, key, sample) => {
      const path = pathOf(parent, key);
      const difference = [operation, what, path, sample].join(' ');
      if (told.has(difference) || told.size === maxTold) return;
      told.add(difference);
      log.info({ operation, what, path, sample }, 'An answer of the service differs from the specification');
    };
}
