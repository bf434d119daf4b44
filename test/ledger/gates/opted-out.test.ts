import { expect, test } from 'vitest';
import { hasOptedOut } from '../../../src/ledger/gates/gates.ts';
import { optOutVerdict } from '../../../src/warehouse/opt-out.ts';

const [ours, another, third] = ['15550000001', '15550000002', '15550000003'];
const lineOf: Readonly<Record<string, string>> = { ours, another, nowhere: '' };

/** What the mirror keeps of `STOP ours, START another`: each said a minute after the one before, or `(at once)`. */
function changesOf(said: string) {
  let minute = 0;
  return said.split(', ').flatMap((each) => {
    const [, text = '', line = '', atOnce] = /^(.+) (ours|another|nowhere)( at once)?$/.exec(each) ?? [];
    if (atOnce === undefined) minute += 1;
    const kind = text === 'skipped' ? ('opt_out' as const) : optOutVerdict(text);
    return kind === 'none' ? [] : [{ line: lineOf[line] ?? '', at: new Date(Date.UTC(2026, 0, 1, 0, minute)), kind }];
  });
}

/** For our line, another one and one where nothing was ever said. */
const onEach = (said: string, kind?: 'unsure') =>
  [ours, another, third].map((line) => {
    const changes = changesOf(said);
    const isOut = hasOptedOut(line, changes, kind);
    expect(hasOptedOut(line, changes.toReversed(), kind), 'in whatever order it is read').toBe(isOut);
    return isOut;
  });

const [everywhere, nowhere] = [Array(3).fill(true), Array(3).fill(false)];

test.each([
  ['STOP ours', everywhere],
  ['STOP ours, START ours', nowhere],
  ['START ours, STOP ours', everywhere],
  ['START ours, STOP ours at once', everywhere],
  ['hello ours, skipped ours', everywhere],
  ['skipped ours, start ours', nowhere],
  ['stop by at 5 ours, yes ours', nowhere],
  ['STOP ours, START another', [true, false, true]],
  ['STOP ours, STOP another, START ours', [false, true, true]],
  ['skipped nowhere, START ours', [false, true, true]],
  ['START ours, STOP another', everywhere],
  ['STOP another, START ours, STOP another', everywhere],
  ['START ours, skipped nowhere', everywhere],
])('a START ends an earlier STOP on its own line, and that of its line elsewhere: %s', (said, isOut) => {
  expect(onEach(said)).toEqual(isOut);
});

test.each([
  ['wrong number ours', everywhere],
  ['wrong number ours, When do you open? ours, Hello? another', everywhere],
  ['wrong number ours, START ours', nowhere],
  ['START ours, stop it ours', everywhere],
  ['wrong number ours, START another', [true, false, true]],
  ['START another, wrong number ours', everywhere],
])('an unsure text waits for a decision, and opts nobody out: %s', (said, waits) => {
  expect(onEach(said, 'unsure')).toEqual(waits);
  expect(onEach(said)).toEqual(nowhere);
});
