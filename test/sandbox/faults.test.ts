import { expect, test } from 'vitest';
import type { FaultInput } from '../../src/sandbox/faults/spec.ts';
import { caller, sandboxOfFile, sandboxOfTest } from './client/caller.ts';

const { sandbox, ask, control } = await sandboxOfFile();

async function statuses(count: number, asking = ask): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < count; at++) found.push((await asking('GET', '/users')).status);
  return found;
}

test('a rate applies to its share of requests: the same ones for the same seed, others for another', async () => {
  const fault: FaultInput = { kind: 'answer', rate: 0.3 };
  sandbox.faults(fault);
  const first = await statuses(60);
  const failed = first.filter((status) => status === 500).length;
  expect(failed).toBeGreaterThan(8);
  expect(failed).toBeLessThan(30);
  sandbox.faults(fault);
  expect(await statuses(60)).toEqual(first);
  const other = await sandboxOfTest({ seed: 2 });
  other.sandbox.faults(fault);
  expect(await statuses(60, other.ask)).not.toEqual(first);
});

test('requests of other operations do not change which ones fail', async () => {
  const fault: FaultInput = { kind: 'answer', rate: 0.5, operation: 'listUsers' };
  sandbox.faults(fault);
  const alone = await statuses(20);
  sandbox.faults(fault);
  const mixed: number[] = [];
  for (let at = 0; at < 20; at++) {
    await ask('GET', '/sms/lines');
    mixed.push(...(await statuses(1)));
  }
  expect(mixed).toEqual(alone);
});

test('a fault with `times` ends after so many', async () => {
  sandbox.faults({ kind: 'answer', times: 2 });
  expect(await statuses(4)).toEqual([500, 500, 200, 200]);
  sandbox.faults({ kind: 'answer', rate: 0.5, times: 3 });
  expect((await statuses(40)).filter((status) => status === 500)).toHaveLength(3);
});

test.each([
  [undefined, [500, 500, 500, 200]],
  ['listUsers', [500, 200, 200, 200]],
  ['GET /sms', [200, 500, 200, 200]],
  ['POST /sms', [200, 200, 200, 200]],
  ['discoverOAuth', [200, 200, 200, 500]],
])('a fault of the operation %s applies to it alone', async (operation, expected) => {
  sandbox.faults({ kind: 'answer', ...(operation && { operation }) });
  const paths = ['/api/public/v1/users', '/api/public/v1/sms/lines', '/api/public/v1/webhooks'];
  const found = [...paths, '/.well-known/oauth-authorization-server'].map((path) => caller(sandbox, '')('GET', path));
  expect((await Promise.all(found)).map(({ status }) => status)).toEqual(expected);
});

test('POST replaces all faults, GET shows them, and an empty list and a reset end them', async () => {
  const shown = async () => (await control('GET', '/faults')).body.data;
  await control('POST', '/faults', [{ kind: 'slow', ms: 5 }, { kind: 'answer' }]);
  await control('POST', '/faults', [{ kind: 'drip', times: 3 }]);
  expect(await shown()).toEqual([{ kind: 'drip', times: 3, rate: 1, everyMs: 100, bytes: 1 }]);
  expect((await control('POST', '/faults', [])).status).toBe(200);
  expect(await shown()).toEqual([]);
  sandbox.faults({ kind: 'answer' }, { kind: 'dropped' });
  await sandbox.reset();
  expect([await shown(), await statuses(1)]).toEqual([[], [200]]);
});

test.each([
  [{ kind: 'gremlin' }, '[0].kind'],
  [{ kind: 'answer', colour: 1 }, 'colour'],
  [{ kind: 'answer', rate: 2 }, '[0].rate'],
  [{ kind: 'answer', times: 0 }, '[0].times'],
  [{ kind: 'answer', operation: 'listUnicorns' }, '[0].operation: listUnicorns'],
  [{ kind: 'edit' }, 'path'],
  [{ kind: 'dropped', type: 'AccountFax' }, 'type'],
])('the fault %j is refused with the field named, and changes nothing', async (fault, named) => {
  const before = { kind: 'dropped', rate: 0.5 } as const;
  sandbox.faults(before);
  const { status, body } = await control('POST', '/faults', [fault]);
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(named)]);
  expect(() => sandbox.faults(fault as FaultInput)).toThrow(named);
  expect((await control('GET', '/faults')).body.data).toEqual([before]);
});
