import { afterAll, describe, expect, test } from 'vitest';
import type { Case } from './case.ts';
import { cases } from './cases.ts';
import { createCaseContext, type Driver, openSuite } from './harness/suite.ts';
import { type OperationId, operationOf, operations } from './operations.ts';

const suite = await openSuite();
afterAll(() => suite[Symbol.asyncDispose]());

const drivers: readonly Driver[] = ['bare', 'client'];
const bySection = [...Map.groupBy(cases, ({ section }) => section)].sort(([one], [other]) =>
  compareSections(one, other),
);

describe.each(bySection)('section %s', (_section, held) => {
  const runs = held.flatMap((each) => driversOf(each).map((driver) => [each.name, driver, each] as const));
  test.for(runs)('%s (%s)', async ([, driver, { needs, run }], { skip }) => {
    if (!suite.allows[needs]) skip(`needs ${needs}: ${cures[needs]}`);
    await run(createCaseContext(suite, driver));
  });
});

const cures: Record<Case['needs'], string> = {
  read: '',
  write: 'set CONFORMANCE_WRITE=1 to let the suite change the account',
  send: 'set CONFORMANCE_SEND=1 to let the suite spend money',
  control: 'only a sandbox can be told to do it',
};

/** Without a word of its own, a case runs through both; the client can only ask what it has methods for. */
function driversOf({ only, operations: asked }: Case): readonly Driver[] {
  if (only !== undefined) return [only];
  const isForClient = asked.every((id) => id in operations && operationOf(id as OperationId).client !== null);
  return isForClient ? drivers : ['bare'];
}

describe.skipIf(!suite.isSandbox)('what came', () => {
  const ids = Object.keys(operations) as OperationId[];

  test.each(ids)('%s succeeded, refused each credential, and gave each of its documented errors', (id) => {
    const { succeeds, fails } = operationOf(id);
    const errors = fails.map((status) => `${status} ${status === 404 ? 'not_found' : 'invalid_request'}`);
    const missing = [
      ...succeeds.map(String),
      '401 unauthenticated',
      '403 insufficient_scope',
      '500 internal_error',
      ...errors,
    ].filter((outcome) => !suite.seen.has(`${id} ${outcome}`));
    expect(missing).toEqual([]);
  });

  test('every operation of the document is one of the suite, by its id and scope', () => {
    const described = Object.entries(suite.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security !== undefined)
        .map(
          ([method, { operationId = '', security }]) =>
            `${operationId} ${method.toUpperCase()} ${path} ${scopeIn(security)}`,
        ),
    );
    const known = ids.map((id) => {
      const { method, path, scope } = operationOf(id);
      return `${id} ${method} /api/public/v1${path} ${scope}`;
    });
    expect(described.toSorted()).toEqual(known.toSorted());
  });
});

function scopeIn(security: readonly Record<string, string[]>[] = []): string {
  return security.flatMap((each) => Object.values(each)).join();
}

function compareSections(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
