import { afterAll, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { operations as conforming } from '../conformance/operations.ts';

interface Described {
  operationId?: string;
  tags?: string[];
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; required?: boolean }[];
  responses: Record<string, { description: string }>;
}

const sandbox = await createSandbox({ calls: 1, threads: 1 });
afterAll(() => sandbox.close());
const response = await fetch(`${sandbox.url}/openapi.json`);
const text = await response.text();
const document = JSON.parse(text);
const routes = Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({ path, method, ...described })),
);
const operations = routes.filter(({ security }) => security !== undefined);

test('the document is OpenAPI 3.1 with a server', () => {
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./), servers: [{ url: '/' }] });
  expect(document.info).toMatchObject({ title: expect.stringMatching(/./), version: expect.stringMatching(/./) });
});

test('the conformance suite knows every operation', () => {
  expect(operations.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(conforming).sort());
});

test('every reference leads somewhere, every schema is referred to, and each entity stands once', () => {
  const referred = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to));
  const held = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect([...referred].sort()).toEqual(held.sort());
  expect(held.filter((name) => name.endsWith('Input'))).toEqual([]);
});

test('every operation has an id of its own, a tag of the document, and a known scheme', () => {
  const ids = routes.flatMap(({ operationId }) => operationId ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = new Set(document.tags.map(({ name }: { name: string }) => name));
  expect(routes.filter((route) => !route.tags?.every((tag) => tags.has(tag)))).toEqual([]);
  expect(routes.filter((route) => (route.tags ?? []).length !== 1).map(({ path }) => path)).toEqual([]);
  const schemes = new Set(operations.flatMap(({ security = [] }) => security.flatMap((each) => Object.keys(each))));
  expect([...schemes]).toEqual(Object.keys(document.components.securitySchemes));
});

test('every path parameter is described and required', () => {
  for (const { path, parameters = [] } of routes) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = parameters.filter((parameter) => parameter.in === 'path' && parameter.required);
    expect(described.map(({ name }) => name).sort(), path).toEqual(named.sort());
  }
});

test('every answer has a status and a sentence, and every operation the errors that all share', () => {
  for (const { path, responses } of routes) {
    for (const [status, { description }] of Object.entries(responses)) {
      expect(status, path).toMatch(/^([1-5]\d\d|[1-5]XX|default)$/);
      expect(description, path).toMatch(/\w/);
      expect(description, path).not.toBe('Default Response');
    }
  }
  for (const { path, responses } of operations) {
    expect(Object.keys(responses), path).toEqual(expect.arrayContaining(['401', '403', '500']));
  }
});

test('answers may gain keys, requests may not', () => {
  const answered = JSON.stringify(operations.map(({ responses }) => responses));
  const reached = new Map<string, string>([['', answered]]);
  // A map goes on to what is added while it is walked.
  for (const shown of reached.values()) {
    for (const [, name = ''] of shown.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      reached.set(name, JSON.stringify(document.components.schemas[name]));
    }
  }
  expect(reached.size).toBeGreaterThan(15);
  expect([...reached].filter(([, shown]) => shown.includes('"additionalProperties":false'))).toEqual([]);
  const search = document.paths['/api/public/v1/calls/search'].post.requestBody.content['application/json'].schema;
  expect(search.additionalProperties).toBe(false);
});

test.each(['/', '/_sandbox/'])(
  'the page at %s says the key, how to provoke events, and leads to the routes',
  async (path) => {
    const page = await fetch(sandbox.url + path);
    expect(page.headers.get('content-type')).toContain('text/html');
    const shown = await page.text();
    for (const part of [sandbox.apiKey, 'href="/docs"', 'href="/openapi.json"', '/_sandbox/faults']) {
      expect(shown).toContain(part);
    }
  },
);
