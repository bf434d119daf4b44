import { afterAll, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { oauthSteps, operations } from '../conformance/operations.ts';

interface Described {
  operationId?: string;
  security?: object[];
  parameters: { name: string; in: string; required: boolean }[];
  requestBody?: { content: { 'application/json': { schema: { additionalProperties?: boolean } } } };
}

const sandbox = await createSandbox({ calls: 1, threads: 1 });
afterAll(() => sandbox.close());
const response = await fetch(`${sandbox.url}/openapi.json`);
const document = (await response.json()) as { openapi: string; paths: Record<string, Record<string, Described>> };
const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({ path, method, ...described })),
);

test('the document is OpenAPI 3.1, and every operation of the service stands in it once, by its id', () => {
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(document.openapi).toMatch(/^3\.1\./);
  const ids = routes.flatMap(({ operationId }) => operationId ?? []);
  expect(ids.sort()).toEqual([...Object.keys(operations), ...Object.keys(oauthSteps)].sort());
});

test('every path parameter is described and required', () => {
  for (const { path, parameters } of routes.filter(({ operationId }) => operationId !== undefined)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = parameters.filter((parameter) => parameter.in === 'path' && parameter.required);
    expect(described.map(({ name }) => name).sort(), path).toEqual(named.sort());
  }
});

test('requests may not gain fields', () => {
  const bodies = routes
    .filter(({ security }) => security !== undefined)
    .flatMap(({ requestBody }) => requestBody ?? []);
  expect(bodies.length).toBeGreaterThan(10);
  for (const { content } of bodies) expect(content['application/json'].schema.additionalProperties).toBe(false);
});

test.each(['/', '/_sandbox/'])('the page at %s says the key and how to provoke events', async (path) => {
  const page = await fetch(sandbox.url + path);
  expect(page.headers.get('content-type')).toContain('text/html');
  const shown = await page.text();
  for (const part of [sandbox.apiKey, 'href="/openapi.json"', '/_sandbox/faults']) {
    expect(shown).toContain(part);
  }
});
