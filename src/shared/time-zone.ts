import { nearest } from './suggestions.ts';

/**
 * Zones that abbreviations mean. JavaScript and Postgres read some of them as others (`BST` as Dhaka), or without
 * summer time.
 */
const abbreviations = new Map(
  `EST America/New_York, EDT America/New_York, ET America/New_York, CDT America/Chicago, CT America/Chicago, MST America/Denver,
  MDT America/Denver, MT America/Denver, PDT America/Los_Angeles, PT America/Los_Angeles, AST America/Halifax, ADT America/Halifax,
  NST America/St_Johns, AKST America/Anchorage, BST Europe/London, CET Europe/Berlin, CEST Europe/Berlin, EEST Europe/Athens,
  MSK Europe/Moscow, SAST Africa/Johannesburg, SGT Asia/Singapore, HKT Asia/Hong_Kong, AEST Australia/Sydney, NZST Pacific/Auckland`
    .split(/,\s+/)
    .map((each) => each.split(' ') as [string, string]),
);

/** Names that JavaScript knows, and Postgres doesn't. */
const oldNames = /^(?:US\/Pacific-New|Canada\/East-Saskatchewan|SystemV\/.*)$/i;

/**
 * What to write instead of the name of a time zone. Undefined for one that can be used: `UTC`, or the name of a place.
 * A name without a slash is an abbreviation or an old name; each program reads these in its own way.
 */
export function zoneRemedy(name: string): string | undefined {
  const known = canonical(name);
  if (known !== undefined && (name === 'UTC' || (name.includes('/') && !oldNames.test(name)))) return undefined;
  const place = `/${name.trim().replace(/\s+/g, '_').toLowerCase()}`;
  const likely = abbreviations.get(name.toUpperCase()) ?? known ?? zonesOf(place)[0] ?? nearest(name, zonesOf(''));
  const isHelp = likely !== undefined && likely !== name;
  return isHelp ? `Write ${likely}.` : 'Write UTC or the name of a place, such as America/New_York.';
}

const zonesOf = (end: string) => Intl.supportedValuesOf('timeZone').filter((zone) => zone.toLowerCase().endsWith(end));

function canonical(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
