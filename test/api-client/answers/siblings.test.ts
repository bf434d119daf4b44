import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../../src/api-client/answers/envelope.ts';

const read = (beside: object, data: unknown = [1, 2]) =>
  readAnswer(JSON.stringify({ ...beside, data }), (came) => came).isComplete;

describe('an answer is whole beside', () => {
  test.each([
    { requestId: 'f3a', status: 'ok', success: true },
    { meta: { version: '2', tookMs: null, generated_at: '2026-11-20T10:00:00Z' } },
    { paging: { next: null, previous: 'abc', hasMore: false, page: 1, pages: 1, perPage: 50 } },
    { next_cursor: null, has_more: false },
    { nextCursor: '', links: { self: '/users', next: null } },
    { total: 2, count: 2 },
    { pagination: { totalCount: 2, total_pages: 1, isLastPage: true } },
    { warnings: [], errors: [] },
    { truncated: false, complete: true },
    { page: { size: 20, number: 0, totalElements: 2, totalPages: 1 } },
    { _links: { self: { href: '/users' }, first: { href: '/users?page=1' } } },
    { page: 1, limit: 50 },
    { limit: 0 },
    { page: 1, limit: 2 },
    { previousCursor: 'abc', bookmark: 'g1AAAA', deep: [[[[[[]]]]]] },
  ])('%j', (beside) => {
    expect(read(beside)).toBe(true);
  });
});

describe('an answer may be a part beside', () => {
  test.each([
    { next: 'abc' },
    { nextPage: 2 },
    { paging: { next: 'eyJwIjoyfQ' } },
    { has_more: true },
    { meta: { cursors: { after: 'MTAx' } } },
    { total: 3 },
    { pagination: { page: 1, pages: 2 } },
    { truncated: true },
    { next: { href: '/users?page=2' } },
    { links: [{ next: [[[[['abc']]]]] }] },
    { page: { size: 2, number: 0, totalElements: 9, totalPages: 5 } },
    { page: { next: 'eyJwIjoyfQ' } },
  ])('%j', (beside) => {
    expect(read(beside)).toBe(false);
  });
});

test('a count is compared with the one list that the data holds, and with nothing where there is none', () => {
  expect(read({ total: 1 }, { messages: [1] })).toBe(true);
  expect(read({ total: 2 }, { messages: [1] })).toBe(false);
  expect(read({ total: 1 }, { id: 7 })).toBe(true);
});
