import { afterAll, describe, expect, test } from 'vitest';
import { operationIds, operationOf } from './operations.ts';
import { access } from './sections/access.ts';
import { billing } from './sections/billing.ts';
import { callSearch } from './sections/call-search.ts';
import { calls } from './sections/calls.ts';
import { conversations } from './sections/conversations.ts';
import { events } from './sections/events.ts';
import { everyOperation } from './sections/every-operation.ts';
import { lines } from './sections/lines.ts';
import { oauth } from './sections/oauth.ts';
import { savedTexts } from './sections/saved-texts.ts';
import { sending } from './sections/sending.ts';
import { threads } from './sections/threads.ts';
import { users } from './sections/users.ts';
import { webhooks } from './sections/webhooks.ts';
import { allows, isSandbox, type Need, sandbox, seen } from './service.ts';

afterAll(() => sandbox.close());

const texting = [sending, billing, conversations, threads, lines, savedTexts].flat();
const all = [texting, users, calls, callSearch, webhooks, access, oauth, events, everyOperation].flat();
const bySection = [...Map.groupBy(all, ({ section }) => section)].sort(([one], [other]) =>
  one.localeCompare(other, 'en', { numeric: true }),
);

const cures: Record<Need, string> = {
  read: '',
  write: 'set CONFORMANCE_WRITE=1 to let the suite change the account',
  send: 'set CONFORMANCE_SEND=1 to let the suite spend money',
  control: 'only a sandbox can be told to do it',
};

describe.each(bySection)('section %s', (_section, held) => {
  test.for(held.map((each) => [each.name, each] as const))('%s', async ([, { needs, run }], { skip }) => {
    if (!allows[needs]) skip(`needs ${needs}: ${cures[needs]}`);
    await run();
  });
});

describe.skipIf(!isSandbox)('what came', () => {
  test.each(operationIds)('%s succeeded, refused each credential, and gave each of its documented errors', (id) => {
    const { succeeds, fails } = operationOf(id);
    const errors = fails.map((status) => `${status} ${status === 404 ? 'not_found' : 'invalid_request'}`);
    const always = ['401 unauthenticated', '403 insufficient_scope', '500 internal_error'];
    expect([...succeeds, ...always, ...errors].filter((outcome) => !seen.has(`${id} ${outcome}`))).toEqual([]);
  });

  test('every operation of the document is one of the suite, by its id and scope', async () => {
    type Described = Record<string, { operationId?: string; security?: Record<string, string[]>[] }>;
    const document = (await (await fetch(`${sandbox.url}/openapi.json`)).json()) as {
      paths: Record<string, Described>;
    };
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId, security }]) => {
        const scope = security?.flatMap((each) => Object.values(each)).join();
        return scope === undefined ? [] : [`${operationId} ${method.toUpperCase()} ${path} ${scope}`];
      }),
    );
    const known = operationIds.map((id) => {
      const { method, path, scope } = operationOf(id);
      return `${id} ${method} /api/public/v1${path} ${scope}`;
    });
    expect(described.toSorted()).toEqual(known.toSorted());
  });
});
