import { expect, test } from 'vitest';
import { adoptSettings, chosenTimeZone, isSameZone } from '../../src/reporting/params.ts';
import { factsDatabase } from './facts.ts';

test('the reports take the zone that is set, and count what is held again by its days', async () => {
  await using facts = await factsDatabase();
  const adopt = (timeZone: string | undefined) => adoptSettings(facts.db, { timeZone, areWordsShown: false });
  expect(await adopt('America/New_York'), 'nothing is held').toBe(false);
  // Half past midnight on Tuesday, UTC.
  await facts.call({ call_id: '1700000001.1', started_at: '03-03T00:30' });
  await facts.thread(1, [['03-03T00:30', 'in']]);
  await facts.drain();
  const days = () =>
    facts.expectRows(`
      select (select string_agg(local_date || ' ' || local_hour || ' ' || call_count, ', ') from reporting.call_hourly) as calls,
        (select string_agg(local_date || ' ' || inbound_count, ', ') from reporting.sms_daily) as texts`);
  await days().toEqual(['2026-03-02 19 1 | 2026-03-02 1']);
  expect(await adopt('America/New_York')).toBe(false);
  expect(await adopt('Asia/Tokyo')).toBe(true);
  await facts.drain();
  await days().toEqual(['2026-03-03 9 1 | 2026-03-03 1']);
  expect(await chosenTimeZone(facts.db)).toBe('Asia/Tokyo');
  expect(await adopt(undefined)).toBe(true);
  await facts.drain();
  await days().toEqual(['2026-03-03 0 1 | 2026-03-03 1']);
  expect(await chosenTimeZone(facts.db)).toBeUndefined();
});

test('BI sees what people wrote where BI_WORDS says so', async () => {
  await using facts = await factsDatabase();
  await facts.thread(1, [['15:00', 'in', { body: 'Hello' }]]);
  for (const areWordsShown of [true, false]) {
    await adoptSettings(facts.db, { timeZone: undefined, areWordsShown });
    expect(await facts.value('select body from reporting.fct_sms_message')).toBe(areWordsShown ? 'Hello' : null);
  }
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
});
