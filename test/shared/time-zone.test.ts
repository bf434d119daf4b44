import { expect, test } from 'vitest';
import { readSettings } from '../../config/settings.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { zoneRemedy } from '../../src/shared/time-zone.ts';

test.each(['UTC', 'America/New_York', 'Asia/Kolkata', 'Europe/Kyiv', 'US/Pacific', 'Etc/GMT+5'])(
  '%s can be used',
  (name) => {
    expect(zoneRemedy(name)).toBeUndefined();
  },
);

test.each([
  ['BST', 'Europe/London'],
  ['bst', 'Europe/London'],
  ['CET', 'Europe/Berlin'],
  ['EST', 'America/New_York'],
  ['EST5EDT', 'America/New_York'],
  ['PST', 'America/Los_Angeles'],
  ['MST', 'America/Denver'],
  ['GMT', 'UTC'],
  ['Japan', 'Asia/Tokyo'],
  ['US/Pacific-New', 'America/Los_Angeles'],
  ['Canada/East-Saskatchewan', 'America/Regina'],
  ['New York', 'America/New_York'],
  ['berlin', 'Europe/Berlin'],
  ['America/New_Yrok', 'America/New_York'],
  ['+02:00', 'such as America/New_York'],
  ['', 'such as America/New_York'],
])('%s cannot, and %s was meant', (name, meant) => {
  expect(zoneRemedy(name)).toContain(meant);
});

test('every door asks the same', () => {
  const zone = (written: string) => () =>
    parseRules(`${written}\nrules: []\n`, { file: 'rules.yaml', timeZone: 'UTC' });
  expect(zone('business_hours: { time_zone: BST }')).toThrow('Write Europe/London.');
  expect(zone('offices: { west: { lines: ["13105550100"], time_zone: US/Pacific-New } }')).toThrow(
    'Write America/Los_Angeles.',
  );
  expect(() => readSettings({ TIME_ZONE: 'CET' })).toThrow('Write Europe/Berlin.');
  const { warnings } = parseRules(
    `rules: [{ name: late, on: message_received, if: 'now.getHours("EST") > 20', do: [{ reopen: true }] }]\n`,
    { file: 'rules.yaml', timeZone: 'UTC' },
  );
  expect(warnings).toMatchObject([{ message: 'EST is not a time zone.', remedy: 'Write America/New_York.' }]);
});
