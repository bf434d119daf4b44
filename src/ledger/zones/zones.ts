import { countryZones } from './countries.ts';
import { allNanpZones, nanpZones } from './nanp.ts';

const zonesByPrefix = new Map(Object.entries(countryZones).map(([prefix, zones]) => [prefix, zones.split(' ')]));
const longestPrefix = Math.max(...[...zonesByPrefix.keys()].map(({ length }) => length));

/** The time zones that the owner of a number, normalised, may be in; none when nothing is known of its country code. */
export function zonesOfNumber(number: string): readonly string[] {
  if (number.startsWith('1') && number.length === 11) return nanpZones(number);
  for (let length = longestPrefix; length > 0; length -= 1) {
    const zones = zonesByPrefix.get(number.slice(0, length));
    if (zones) return zones;
  }
  return [];
}

/** Every zone of the data. */
export const allZones: readonly string[] = [
  ...new Set([...allNanpZones, ...[...zonesByPrefix.values()].flat()]),
].sort();
