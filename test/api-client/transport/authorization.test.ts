import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { apiKey, type Credential } from '../../../src/api-client/client.ts';
import { json, listen, open, refusalOf, refuse, unhurried } from '../endpoint.ts';

const many = Array.from({ length: 50 });

/** A credential that `renew` replaces, with every renewal that was asked for. */
function renewable(renew: (refused: string, number: number) => Promise<string | undefined>) {
  let value = 'Bearer old';
  const asked: string[] = [];
  const credential: Credential = {
    authorization: async () => value,
    async renew(refused) {
      const renewed = await renew(refused, asked.push(refused));
      value = renewed ?? value;
      return renewed !== undefined;
    },
  };
  return { credential, asked };
}

function onlyFor(token: string) {
  return listen((response, { headers }) =>
    headers.authorization === token ? json(response, 200, { data: [] }) : refuse(response, 401, 'unauthenticated'),
  );
}

test('fifty requests under way share one renewal and all succeed', async () => {
  const { url, seen } = await onlyFor('Bearer new');
  const { credential, asked } = renewable(async () => {
    await expect.poll(() => seen.length).toBe(50);
    return 'Bearer new';
  });
  const { lines, circuit } = open(url, { credential });
  await Promise.all(many.map(() => lines.list()));
  expect(asked).toEqual(['Bearer old']);
  expect(seen).toHaveLength(100);
  expect(circuit.state().state).toBe('closed');
});

test('a credential that cannot be renewed is asked once, and every request is refused', async () => {
  const { url, seen } = await onlyFor('Bearer new');
  const { credential, asked } = renewable(async () => undefined);
  const { lines } = open(url, { credential });
  const errors = await Promise.all(many.map(() => refusalOf(lines.list())));
  await refusalOf(lines.list());
  expect(new Set(errors.map(({ code, advice }) => `${code} ${advice}`))).toEqual(
    new Set(['unauthenticated credential']),
  );
  expect({ asked, requests: seen.length }).toEqual({ asked: ['Bearer old'], requests: 51 });
});

test('a renewed credential that is refused too is the end of the call', async () => {
  const { url, seen } = await onlyFor('Bearer other');
  const { credential, asked } = renewable(async (_, number) => `Bearer new-${number}`);
  expect(await refusalOf(open(url, { credential }).lines.list())).toMatchObject({ code: 'unauthenticated' });
  expect({ asked, requests: seen.length }).toEqual({ asked: ['Bearer old'], requests: 2 });
});

test('a renewal that breaks is shared too, and may be asked for again half a minute later', async () => {
  const { url } = await onlyFor('Bearer new');
  const { credential, asked } = renewable(async (_, number) => {
    if (number === 1) throw new Error('the token endpoint did not answer');
    return 'Bearer new';
  });
  const { clock, pass } = unhurried();
  const { lines } = open(url, { credential, clock });
  const errors = await Promise.all(many.map(() => refusalOf(lines.list())));
  expect(errors.every((error) => error.code === 'unauthenticated' && error.cause instanceof Error)).toBe(true);
  expect(asked).toHaveLength(1);
  pass(30_000);
  await lines.list();
  expect(asked).toHaveLength(2);
});

test('a value that was renewed elsewhere meanwhile is used without another renewal', async () => {
  const { url } = await onlyFor('Bearer new');
  const values = ['Bearer old', 'Bearer new'];
  const credential: Credential = {
    authorization: async () => values.shift() ?? 'Bearer new',
    renew: () => Promise.reject(new Error('nobody should ask')),
  };
  expect((await open(url, { credential }).lines.list()).data).toEqual([]);
});

test('creating is not repeated with the renewed credential, and says that it may be tried again', async () => {
  const { url, seen } = await onlyFor('Bearer new');
  const { credential } = renewable(async () => 'Bearer new');
  const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
  const error = await refusalOf(open(url, { credential }).webhooks.create(created));
  expect(error).toMatchObject({ code: 'unauthenticated', advice: 'retry', effect: 'none', status: 401 });
  expect(seen).toHaveLength(1);
});

test('without a credential nothing is sent', async () => {
  const { url, seen } = await onlyFor('Bearer new');
  const cause = new Error('log in first');
  const credential: Credential = { authorization: () => Promise.reject(cause), renew: async () => false };
  const error = await refusalOf(open(url, { credential }).lines.list());
  expect(error).toMatchObject({ code: 'unauthenticated', advice: 'credential', effect: 'none', cause });
  expect(seen).toHaveLength(0);
});

test.each(['', 'key\n', 'a key', 'clé'])(
  'the API key %j is refused when it is given, without being repeated',
  (key) => {
    expect(() => apiKey(key)).toThrow(/^The API key is empty or has/);
  },
);

test('an API key does not show when its credential is printed', () => {
  expect(inspect(apiKey('key-7f3a'), { depth: 9, showHidden: true })).not.toContain('key-7f3a');
});
