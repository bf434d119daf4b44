import { expect, test } from 'vitest';
import { adoptTimeZone, changeParams, isSameZone, timeZoneRemedy, wantedTimeZone } from '../../src/reporting/params.ts';
import { factsDatabase } from './facts.ts';

test('the reports take the zone that was set, while there is nothing to compute again', async () => {
  await using facts = await factsDatabase();
  const zones = () =>
    facts.expectRows(`
      select p.time_zone as days, s.time_zone as hours from reporting.params p join reporting.schedules s using (schedule_id)`);
  expect(await adoptTimeZone(facts.db, 'America/New_York')).toBe(true);
  await zones().toEqual(['America/New_York | America/New_York']);
  await facts.call({ call_id: '1700000001.1' });
  expect(await adoptTimeZone(facts.db, 'America/New_York')).toBe(true);
  expect(await adoptTimeZone(facts.db, 'Asia/Tokyo')).toBe(false);
  await zones().toEqual(['America/New_York | America/New_York']);
});

test('a zone that an empty warehouse takes leaves nothing to compute again, and one for what it holds does', async () => {
  await using facts = await factsDatabase();
  const stale = () =>
    facts.value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  await adoptTimeZone(facts.db, 'Europe/Berlin');
  expect(await stale()).toBe(0);
  await facts.call({ call_id: '1700000001.1' });
  await changeParams(facts.db, { timeZone: 'Asia/Tokyo' });
  expect(await stale()).toBe(1);
  expect(await adoptTimeZone(facts.db, 'Asia/Tokyo')).toBe(true);
  expect(await stale()).toBe(1);
});

test('a changed TIME_ZONE that waits for a rebuild is told of, with what to do', async () => {
  await using facts = await factsDatabase();
  const told = () =>
    facts.expectRows(`
      select found_count, meaning from reporting.data_quality where check_name = 'days in another zone than TIME_ZONE'`);
  const none = [expect.stringMatching(/^0 /)];
  await adoptTimeZone(facts.db, 'Europe/Berlin');
  await told().toEqual(none);
  await facts.call({ call_id: '1700000001.1' });
  expect(await adoptTimeZone(facts.db, 'Asia/Tokyo')).toBe(false);
  await told().toEqual([
    '1 | 1: days and hours are those of Europe/Berlin, and TIME_ZONE is Asia/Tokyo. Run `npx trunkline reporting rebuild`.',
  ]);
  expect(await wantedTimeZone(facts.db)).toBe('Asia/Tokyo');
  expect(await adoptTimeZone(facts.db, undefined)).toBe(true);
  await told().toEqual(none);
});

test('a schedule in a zone of its own stays in it', async () => {
  await using facts = await factsDatabase();
  await facts.query(`update reporting.schedules set time_zone = 'Europe/Berlin'`);
  await changeParams(facts.db, { timeZone: 'America/Chicago' });
  await facts.expectRows('select time_zone from reporting.schedules').toEqual(['Europe/Berlin']);
  await facts.expectRows('select time_zone from reporting.params').toEqual(['America/Chicago']);
});

test('a zone is only usable where Postgres and JavaScript mean the same by it', async () => {
  await using facts = await factsDatabase();
  for (const zone of ['UTC', 'America/New_York', 'Europe/Paris', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Etc/GMT+5']) {
    expect([zone, await isSameZone(facts.db, zone)]).toEqual([zone, true]);
  }
  // An abbreviation in Postgres, without summer time; and two that Postgres cannot know.
  for (const zone of ['CET', 'EET', 'MET', '+05:30', 'Nowhere/Land']) {
    expect([zone, await isSameZone(facts.db, zone)]).toEqual([zone, false]);
  }
  expect(await timeZoneRemedy(facts.db, 'CET')).toBe('Set TIME_ZONE to Europe/Brussels.');
  expect(await timeZoneRemedy(facts.db, '+05:30')).toContain('such as America/New_York');
  expect(await timeZoneRemedy(facts.db, 'America/New_York')).toBeUndefined();
});
