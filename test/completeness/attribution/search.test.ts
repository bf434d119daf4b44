import { expect, test } from 'vitest';
import { listCallsOf } from '../../../src/completeness/attribution/search.ts';
import { callAt, createHistory, type History, serveHistory } from '../coverage/history.ts';

const from = 1_790_000_000;
const window = { kind: 'queue', from, to: from + 3_600, reached: null } as const;

async function touched(history: History) {
  const { client } = await serveHistory(history);
  const listed = await listCallsOf({ service: client, onAnswer: () => undefined }, window, '601');
  return { ...listed, callIds: listed.callIds.length };
}

/** A hundred calls of one second, on pages of forty. */
function crowded(): History {
  const history = createHistory();
  for (let at = 0; at < 100; at += 1) history.calls.push(callAt(from + 60, at + 1));
  history.cap = 40;
  return history;
}

test('a search is listed to its end', async () => {
  expect(await touched(crowded())).toEqual({ callIds: 100, requests: 3, unlisted: 0 });
});

test('a search whose total is not told is listed until a page brings nothing new', async () => {
  const history = crowded();
  history.bend = ({ calls }) => ({ data: { calls } });
  expect(await touched(history)).toEqual({ callIds: 100, requests: 4, unlisted: 0 });
});

test('calls of one second that come in another order each time are added up, and what is still missing is told', async () => {
  const history = crowded();
  history.shuffles = true;
  const { callIds, requests, unlisted } = await touched(history);
  expect([callIds + unlisted, callIds > 90, requests <= 9]).toEqual([100, true, true]);
});
