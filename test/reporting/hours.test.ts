import { describe, expect, test, vi } from 'vitest';
import { adoptHours } from '../../src/reporting/hours.ts';
import { hoursOf as hoursOfLine } from '../../src/rules/business-hours.ts';
import { hoursAt } from '../../src/rules/facts/hours.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { createRulesWorld } from '../rules/rules-world.ts';
import { until } from '../world.ts';
import { type Facts, factsDatabase } from './facts.ts';

const zone = 'America/New_York';
const hoursOf = (written: string, timeZone = zone) =>
  parseRules(`${written}\nrules: []\n`, { file: 'rules.yaml', timeZone }).hours;

/** Whether the reports count an instant as business time. */
const isOpen = async ({ value }: Pick<Facts, 'value'>, at: string) =>
  Number(
    await value(`select reporting.business_seconds($1::timestamptz, $1::timestamptz + interval '1 second')`, at),
  ) === 1;

describe('the hours of the rules file are those of the reports', () => {
  // Monday to Sunday of a week in which New York is five hours behind UTC; Wednesday is a holiday.
  const file = `business_hours: { monday: ["09:00-12:00", "13:00-24:00"], wednesday: 09:00-17:00, saturday: ["10:00-13:00", "12:00-14:00"], holidays: [2026-03-04] }`;
  const instants = [2, 3, 4, 5, 6, 7, 8].flatMap((day) =>
    [8, 9, 11, 12, 13, 16, 23].map((hour) => new Date(Date.UTC(2026, 2, day, hour + 5, 30)).toISOString()),
  );

  test('at every hour of a week, after each change', async () => {
    await using facts = await factsDatabase();
    for (const written of [file, '', 'business_hours: {}', file, 'business_hours: { sunday: 00:00-24:00 }']) {
      const hours = hoursOf(written);
      await adoptHours(facts.db, hours);
      for (const at of instants) {
        expect(`${at} ${await isOpen(facts, at)}`).toBe(`${at} ${hoursAt(hours, new Date(at)).is_open}`);
      }
    }
  });

  test('spans that overlap count once', async () => {
    await using facts = await factsDatabase();
    await adoptHours(facts.db, hoursOf(file));
    const open = `select reporting.business_seconds('2026-03-07T05:00Z', '2026-03-08T05:00Z')::integer`;
    expect(await facts.value(open)).toBe(4 * 3600);
  });

  test('in the hour that happens twice rules, is_open_at and business time say the same', async () => {
    await using facts = await factsDatabase();
    const hours = hoursOf('business_hours: { sunday: ["01:15-01:45", "02:30-04:00"] }');
    await adoptHours(facts.db, hours);
    // The clock goes back from two to one at 06:00, and forward from two to three on another Sunday at 07:00.
    const quarters = ['2026-11-01T04:00Z', '2026-03-08T05:00Z'].flatMap((from) =>
      Array.from({ length: 24 }, (_, at) => new Date(Date.parse(from) + at * 900_000).toISOString()),
    );
    for (const at of quarters) {
      const told = [await isOpen(facts, at), await facts.value('select reporting.is_open_at($1)', at)];
      expect([at, ...told]).toEqual([at, ...Array(2).fill(hoursAt(hours, new Date(at)).is_open)]);
    }
  });
});

test('a call counts by the hours of the office of its line, half days and holidays of every year included', async () => {
  await using facts = await factsDatabase();
  const hours =
    hoursOf(`business_hours: { thursday: 09:00-17:00, friday: 09:00-17:00, holidays: [12-25], days: { 12-24: 09:00-12:00 } }
offices: { west: { lines: ["13105550100"], time_zone: America/Los_Angeles } }`);
  expect(await adoptHours(facts.db, hours)).toBe('adopted');
  expect(await adoptHours(facts.db, hours)).toBe('same');
  const calls = [10, 17, 24, 25].flatMap((day) =>
    [14, 16, 17, 19, 23].flatMap((hour) =>
      ['18455550100', '13105550100'].map((line) => ({ line, at: new Date(Date.UTC(2026, 11, day, hour, 30)) })),
    ),
  );
  for (const [at, { line, at: startedAt }] of calls.entries()) {
    await facts.call({ call_id: String(at), started_at: startedAt, account_number: line });
  }
  const counted = await facts.query<{ is_open: boolean }>(
    'select is_business_hours as is_open from reporting.fct_call order by call_id::integer',
  );
  expect(counted.map(({ is_open }) => is_open)).toEqual(
    calls.map(({ line, at }) => hoursAt(hoursOfLine(hours, line), at).is_open),
  );
  const week = `select reporting.business_seconds('2026-12-24T05:00Z', '2026-12-26T05:00Z')::integer / 3600`;
  expect(await facts.value(week)).toBe(3);
  await adoptHours(facts.db, hoursOf('business_hours: { thursday: 09:00-17:00 }'));
  expect(await facts.value('select count(*)::integer from reporting.schedule_lines')).toBe(0);
});

test('a new year extends them, and nothing that is held counts again', async () => {
  await using facts = await factsDatabase();
  await facts.thread(1, [['15:00', 'in']]);
  const hours = hoursOf('');
  await adoptHours(facts.db, hours);
  const last = 'select extract(year from max(closes_at))::integer from reporting.open_hours';
  const year = new Date().getUTCFullYear();
  expect(await facts.value(last)).toBe(year + 2);
  vi.useFakeTimers({ now: Date.UTC(year + 1, 0, 2), toFake: ['Date'] });
  try {
    expect(await adoptHours(facts.db, hours)).toBe('adopted');
    expect(await adoptHours(facts.db, hours)).toBe('same');
  } finally {
    vi.useRealTimers();
  }
  expect(await facts.value(last)).toBe(year + 3);
});

describe('a change of the hours counts again', () => {
  const week = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday']
    .map((name) => `${name}: 09:00-17:00`)
    .join(', ');
  const isOpenTurn = 'select is_business_hours from reporting.fct_sms_turn';

  test('what is held, and nothing where nothing is', async () => {
    await using facts = await factsDatabase();
    expect(await facts.hours('business_hours: { monday: 08:00-12:00 }')).toBe('adopted');
    // Half past twelve on Monday in New York.
    await facts.thread(1, [['17:30', 'in']]);
    await facts.drain();
    await facts.expectRows(isOpenTurn).toEqual(['false']);
    expect(await facts.hours('business_hours: { monday: 08:00-12:00 }')).toBe('same');
    expect(await facts.hours('business_hours: { monday: 08:00-13:00 }')).toBe('recounted');
    await facts.drain();
    await facts.expectRows(isOpenTurn).toEqual(['true']);
  });

  test('but not for a holiday to come, which no reply has met', async () => {
    await using facts = await factsDatabase();
    await facts.hours('');
    await facts.thread(1, [['15:00', 'in']]);
    const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10);
    // A week each, since a weekend has no hours to change.
    const adopt = (ahead: number) =>
      facts.hours(`business_hours: { ${week}, holidays: [${day(ahead)}..${day(ahead + 6)}] }`);
    expect(await adopt(30)).toBe('adopted');
    expect(await adopt(-30)).toBe('recounted');
  });
});

test('in a worker, rules and reports follow one change of the file', async () => {
  const days = [-1, 0, 1].map((ahead) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10));
  const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
  const text = (holidays: readonly string[]) =>
    `business_hours: { ${weekdays.map((day) => `${day}: 00:00-24:00`).join(', ')}, holidays: [${holidays.join(', ')}] }
rules:
  - { name: closed, on: message_received, if: '!hours.is_open', do: [{ comment: closed }] }
  - { name: open, on: message_received, if: hours.is_open, do: [{ comment: open }] }`;
  const desk = await createRulesWorld(text([]), 'dry-run', 'postgres');
  try {
    const isOpenNow = () => isOpen(desk, new Date().toISOString());
    await until(isOpenNow);
    await desk.sandbox.emit.sms();
    await desk.rulesSettled();
    await desk.rules(text(days));
    await until(async () => !(await isOpenNow()));
    await desk.sandbox.emit.sms();
    await desk.rulesSettled();
    expect((await desk.runs()).map(({ rule }) => rule)).toEqual(['open', 'closed']);
  } finally {
    await desk.close();
  }
});
