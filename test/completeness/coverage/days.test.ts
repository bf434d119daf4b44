import { beforeEach, expect, test } from 'vitest';
import { daysOfCoverage } from '../../../src/completeness/coverage/days.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
beforeEach(() => query('truncate ops.coverage, ops.gaps, warehouse.sms_unread_snapshots'));

const [from, to] = [new Date('2026-03-02T00:00:00Z'), new Date('2026-03-05T00:00:00Z')];
const textsOf = async () =>
  (await daysOfCoverage(db, from, to)).map(({ date, missingTexts }) => [date, missingTexts.map(({ line }) => line)]);
const counted = (line: string, observedAt: string, reported: number, held: number, state: string) =>
  query(
    'insert into warehouse.sms_unread_snapshots (line, observed_at, reported_count, held_count, state) values ($1, $2, $3, $4, $5)',
    ...[line, observedAt, reported, held, state],
  );
const gap = (stream: string, from: string, to: string, filledAt: string | null) =>
  query(
    `insert into ops.gaps (stream, from_at, to_at, reason, filled_at) values ($1, $2, $3, 'a test', $4)`,
    ...[stream, from, to, filledAt],
  );

test('texts are missed on the day since which they are, and not once they are held', async () => {
  await counted('16465550100', '2026-03-03T09:00:00Z', 5, 3, 'unexplained');
  await counted('16465550101', '2026-03-03T10:00:00Z', 2, 1, 'behind');
  await counted('16465550101', '2026-03-03T11:00:00Z', 2, 2, 'even');
  expect(await textsOf()).toEqual([
    ['2026-03-02', []],
    ['2026-03-03', ['16465550100']],
    ['2026-03-04', []],
  ]);
  const [, day] = await daysOfCoverage(db, from, to);
  expect(day?.missingTexts).toEqual([
    {
      ...{ line: '16465550100', missing: 2, since: new Date('2026-03-03T09:00:00Z'), state: 'unexplained' },
      wasSearched: false,
    },
  ]);
});

test('what is missed since before the days stands on the first, what came after them on none', async () => {
  await counted('16465550100', '2026-02-11T09:00:00Z', 5, 3, 'older');
  await counted('16465550101', '2026-03-05T00:00:00Z', 5, 3, 'behind');
  expect(await textsOf()).toEqual([
    ['2026-03-02', ['16465550100']],
    ['2026-03-03', []],
    ['2026-03-04', []],
  ]);
});

test('an open gap stands on the day on which it begins, or on the first that it goes on into', async () => {
  await gap('texts', '2026-03-01T23:00:00Z', '2026-03-02T01:00:00Z', null);
  await gap('calls', '2026-03-04T10:00:00Z', '2026-03-04T11:00:00Z', null);
  await gap('calls', '2026-03-03T10:00:00Z', '2026-03-03T11:00:00Z', '2026-03-03T12:00:00Z');
  await gap('texts', '2026-02-27T10:00:00Z', '2026-02-27T11:00:00Z', null);
  const days = await daysOfCoverage(db, from, to);
  expect(days.map(({ openGaps }) => openGaps)).toEqual([
    [{ stream: 'texts', from: new Date('2026-03-01T23:00:00Z'), to: new Date('2026-03-02T01:00:00Z') }],
    [],
    [{ stream: 'calls', from: new Date('2026-03-04T10:00:00Z'), to: new Date('2026-03-04T11:00:00Z') }],
  ]);
});
