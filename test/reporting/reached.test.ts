import { afterAll, beforeAll, expect, test } from 'vitest';
import { howFar } from '../../src/warehouse/call-facts.ts';
import { leg, reachedCases } from '../rules/reached-cases.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
afterAll(() => facts[Symbol.asyncDispose]());

const idOf = (at: number) => `${1772463600 + at}.1`;

beforeAll(async () => {
  for (const [at, [, call, legs]] of reachedCases.entries()) {
    const { calledType, talkSeconds, isRecorded, status, statusCode } = call;
    await facts.call({
      ...{ call_id: idOf(at), started_at: '2026-03-02T15:00:00Z', status, status_code: statusCode },
      ...{ called_type: calledType, called_number: '601', talk_seconds: talkSeconds, is_recorded: isRecorded },
      ...{ leg_count: legs.length, legs_fetched_at: '2026-03-03T00:00:00Z' },
    });
    for (const [nth, each] of legs.map(leg).entries()) {
      await facts.insert('warehouse.call_legs', {
        ...{ call_id: idOf(at), leg_key: `#${nth}`, ordinal: nth + 1, caller_type: each.callerType },
        ...{ called_type: each.calledType, called_number: '601', status: each.status },
        ...{ talk_seconds: each.talkSeconds, is_recorded: each.isRecorded },
      });
    }
  }
  await facts.measure(
    ...(await facts.query<{ id: string }>('select call_id as id from warehouse.calls')).map(({ id }) => id),
  );
});

test.each(reachedCases.map((each, at) => [at, ...each] as const))(
  '%i: fct_call and the rules say the same of a call: %s',
  async (at, _what, call, legs, reached) => {
    const ofReports = await facts.value('select reached from reporting.fct_call where call_id = $1', idOf(at));
    expect([ofReports, howFar(call, legs.map(leg)).reached]).toEqual([reached, reached]);
  },
);
