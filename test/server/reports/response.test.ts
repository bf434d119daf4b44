import { expect, test } from 'vitest';
import { pictures } from '../../../src/server/reports/pictures.ts';
import { reading, readReport } from '../../../src/server/reports/report.ts';
import { factsDatabase } from '../../reporting/facts.ts';

test('the sentence about responses is the median of all turns, not of the days’ medians', async () => {
  await using facts = await factsDatabase();
  const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
  const turn = async (id: number, back: number, minutes: number) => {
    const asked = Date.parse(`${day(back)}T10:00:00Z`);
    await facts.thread(id, [
      [new Date(asked).toISOString(), 'in'],
      [new Date(asked + minutes * 60_000).toISOString(), 'out', { sent_by: 1 }],
    ]);
  };
  // Medians of the days: 60, 2 and 2 minutes. Of the turns, five took 60 minutes, and two took 2.
  for (const id of [1, 2, 3, 4, 5]) await turn(id, 3, 60);
  await turn(6, 2, 2);
  await turn(7, 1, 2);
  await facts.drain();

  const which = pictures.filter(({ name }) => name === 'response-time');
  const [drawn] = (await reading(facts.db, { days: '7' }, (each) => readReport(each, which))).drawn;
  if (drawn?.figures.state !== 'known') throw new Error('The picture was not read');
  expect(drawn.picture.sentence(drawn.figures.value)).toBe('Half of the replies of people came within 60 min.');
});
