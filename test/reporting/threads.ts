import type { Facts } from './facts.ts';

export const line = '15559990000';
export const otherLine = '15559990001';
const user = { sent_by: 1 };

/** Six conversations that have among them what makes turns hard; the days are those of New York. */
export async function stateThreads(facts: Facts): Promise<void> {
  const { thread } = facts;
  await facts.params({ time_zone: 'America/New_York' });
  await facts.hours('');
  await facts.user(1, ['201']);
  // Monday 2026-03-02; New York is five hours behind UTC.
  await thread(1, [
    ['15:00', 'in'],
    ['15:00:05', 'out', { delivery_status: 'DELIVRD', delivery_at: '15:00:09' }],
    ['15:10', 'in'],
    ['15:20', 'out', { ...user, delivery_status: 'undelivered', delivery_error: '30005' }],
  ]);
  await thread(2, [
    ['15:30', 'in', { media_count: 2 }],
    ['15:31', 'out', user],
    ['15:32', 'in'],
    ['03-07T15:00', 'in'],
  ]);
  // Friday, half an hour before closing, to Monday, a quarter of an hour after opening: the clock changed in between.
  await thread(3, [
    ['03-06T21:30', 'in'],
    ['03-09T13:15', 'out', user],
  ]);
  await thread(4, [
    ['03-10T15:00', 'in'],
    ['03-10T15:01', 'out', { ...user, is_blocked: true }],
    ['03-10T15:02', 'out', { ...user, is_scheduled: true }],
  ]);
  await thread(
    5,
    [
      ['03-11T03:59:59', 'in'],
      ['03-11T04:00', 'out', { delivery_status: 'martian' }],
    ],
    { line: otherLine, participants_key: '15551000005,15551000006' },
  );
  await thread(6, [['03-12T15:00', 'out', user]]);
  await facts.drain();
}
