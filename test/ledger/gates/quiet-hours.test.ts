import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allZones, firstAllowedMoment, zonesOfNumber } from '../../../src/ledger/gates/quiet-hours.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const quiet = { from: '21:00', to: '08:00' };

/** Every zone that this Node knows, and those of numbers under the names that the data gives them. */
const everyZone = [...new Set([...Intl.supportedValuesOf('timeZone'), ...allZones])].sort();

const faces = new Map(
  everyZone.map((timeZone) => [
    timeZone,
    {
      time: new Intl.DateTimeFormat('sv-SE', { timeZone, hour: '2-digit', minute: '2-digit' }),
      offset: new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }),
    },
  ]),
);

/** What a clock of the zone shows. */
const shows = (at: number, zone: string) => faces.get(zone)?.time.format(at) ?? '';
const isQuiet = (at: number, zones: readonly string[]) =>
  zones.some((zone) => shows(at, zone) >= '21:00' || shows(at, zone) < '08:00');

function offsetAt(at: number, zone: string): number {
  const parts = faces.get(zone)?.offset.formatToParts(at) ?? [];
  const [, sign = '+', hours = '0', minutes = '0'] =
    /GMT(?:([+-])(\d\d):?(\d\d)?)?/.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** The hours of a year at whose begin a zone's clocks are set. */
function changesOf(zone: string, year: number): number[] {
  const changes: number[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  for (let at = Date.UTC(year, 0, 1); at < end; at += day) {
    if (offsetAt(at, zone) === offsetAt(at + day, zone)) continue;
    let change = at;
    while (offsetAt(change, zone) === offsetAt(change + 30 * minute, zone)) change += 30 * minute;
    changes.push(change + 30 * minute);
  }
  return changes;
}

// A zone of the data that this Node does not know would throw above.
test('the data names very many zones', () => {
  expect(allZones.length).toBeGreaterThan(200);
});

const changing = everyZone.flatMap((zone) => changesOf(zone, 2026).map((change) => ({ zone, change })));

test('both days on which clocks are set are tried wherever they are', () => {
  const perZone = Map.groupBy(changing, ({ zone }) => zone);
  expect(everyZone.length).toBeGreaterThan(400);
  expect(perZone.size).toBeGreaterThan(120);
  expect([...perZone.values()].filter((changes) => changes.length < 2).length).toBeLessThan(3);
});

test('every zone opens at the first minute that its clocks show as open, on both days and on others', () => {
  const changesIn = Map.groupBy(changing, ({ zone }) => zone);
  for (const zone of everyZone) {
    const days = [...(changesIn.get(zone) ?? []).map(({ change }) => change), Date.UTC(2026, 6, 1)];
    for (const change of days) {
      // From the evening before to the evening after, at odd moments.
      for (let from = change - 14 * hour; from < change + 14 * hour; from += 241 * minute + 1_003) {
        const opens = firstAllowedMoment(new Date(from), [zone], quiet)?.getTime() ?? Number.NaN;
        const shown = { zone, from: new Date(from), isQuiet: isQuiet(opens, [zone]) };
        expect(shown).toEqual({ ...shown, isQuiet: false });
        if (opens === from) continue;
        // The longest shift of any clock is two hours.
        const late = {
          opensAt: shows(opens, zone),
          wasQuiet: isQuiet(opens - 1, [zone]),
          isSoon: opens - from <= 13 * hour,
        };
        expect({ ...shown, ...late }).toEqual({ ...shown, opensAt: '08:00', wasQuiet: true, isSoon: true });
      }
    }
  }
});

test('a number that may be in several zones waits for the last of them', () => {
  const zones = zonesOfNumber('18505550123');
  expect(zones).toEqual(expect.arrayContaining(['America/New_York', 'America/Chicago']));
  const opens = firstAllowedMoment(new Date('2026-01-15T09:00:00Z'), zones, quiet);
  expect(opens?.toISOString()).toBe('2026-01-15T14:00:00.000Z');
});

test('for any few zones, the first open moment is open in all and the minute before is not', () => {
  const some = fc.uniqueArray(fc.constantFrom(...zonesOfNumber('18005550123'), 'Europe/London', 'Europe/Moscow'), {
    minLength: 1,
    maxLength: 3,
  });
  const moments = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) });
  fc.assert(
    fc.property(some, moments, (zones, from) => {
      const opens = firstAllowedMoment(new Date(from), zones, quiet)?.getTime();
      if (opens === undefined) return true;
      return !isQuiet(opens, zones) && (opens === from || isQuiet(opens - 1, zones));
    }),
    { numRuns: 60 },
  );
});

test('zones that are never awake together have no such moment', () => {
  const zones = ['Africa/Abidjan', 'Asia/Shanghai', 'America/Los_Angeles'];
  expect(firstAllowedMoment(new Date('2026-01-15T09:00:00Z'), zones, quiet)).toBeUndefined();
});

describe('the zones of a number', () => {
  test.each([
    ['12125550123', ['America/New_York']],
    ['13125550123', ['America/Chicago']],
    ['16025550123', ['America/Phoenix']],
    ['18085550123', ['Pacific/Honolulu']],
    ['442071234567', ['Europe/London']],
    ['972501234567', ['Asia/Jerusalem', 'Asia/Gaza', 'Asia/Hebron']],
    ['77012345678', expect.arrayContaining(['Asia/Almaty'])],
    ['74951234567', ['Europe/Moscow']],
    ['99912345678', []],
  ])('%s', (number, zones) => {
    expect(zonesOfNumber(number)).toEqual(zones);
  });

  test('an area code that is not known may be anywhere', () => {
    expect(zonesOfNumber('18005550123').length).toBeGreaterThan(6);
  });

  test('every number of the plan has at least one zone, and a moment in the day that is open', () => {
    const closed: string[] = [];
    for (let area = 200; area < 1_000; area += 1) {
      const zones = zonesOfNumber(`1${area}5550123`);
      if (zones.length === 0 || firstAllowedMoment(new Date('2026-01-15T09:00:00Z'), zones, quiet) === undefined)
        closed.push(String(area));
    }
    expect(closed).toEqual([]);
  });
});
