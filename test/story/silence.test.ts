import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { createStoryWorld } from './world.ts';

const world = await createStoryWorld();
const number = '12125550144';
const shipped = await readFile('config/rules.yaml', 'utf8');

describe('the shipped silence of 48 hours', () => {
  beforeEach(() => world.rules(shipped));

  test('resolves the thread, a new text reopens it, and the next answer begins again', async () => {
    const answer = { direction: 'out', sentBy: 4156 } as const;
    await world.text(number, 'It is ready for you.', answer);
    await world.pass('47h');
    expect(world.changes(number)).toEqual([]);
    await world.pass('2h');
    expect(world.changes(number)).toEqual(['resolve']);
    await world.text(number, 'It is broken again.');
    expect(world.changes(number)).toEqual(['resolve', 'reopen']);
    await world.text(number, 'Bring it in, please.', answer);
    await world.pass('49h');
    expect(world.changes(number)).toEqual(['resolve', 'reopen', 'resolve']);
  });
});
