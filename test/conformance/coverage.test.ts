import { expect, test } from 'vitest';
import { cases } from './cases.ts';
import { clauses, sectionOf } from './clauses.ts';
import { oauthSteps, operations } from './operations.ts';

const covered = new Set<string>(cases.flatMap((each) => each.clauses));
const seen = Object.entries(clauses).filter(([, clause]) => typeof clause === 'string');

test('every clause that can be seen has a case', () => {
  expect(seen.map(([id]) => id).filter((id) => !covered.has(id))).toEqual([]);
});

test('no case claims a clause that cannot be seen, and each of those says why', () => {
  const unseen = Object.entries(clauses).flatMap(([id, clause]) =>
    typeof clause === 'string' ? [] : [[id, clause.unseen]],
  );
  expect(unseen.filter(([id = '', why]) => covered.has(id) || why === '')).toEqual([]);
});

test('every operation has a case', () => {
  const asked = new Set<string>(cases.flatMap((each) => each.operations));
  expect([...Object.keys(operations), ...Object.keys(oauthSteps)].filter((id) => !asked.has(id))).toEqual([]);
});

test('every case has a name of its own', () => {
  const twice = [...Map.groupBy(cases, ({ name }) => name)].filter(([, held]) => held.length > 1);
  expect(twice.map(([name]) => name)).toEqual([]);
});

test('the clauses reach every section from 2 to 8', () => {
  const sections = [...new Set(Object.keys(clauses).map(sectionOf))];
  expect(new Set(sections.map((section) => section.split('.')[0]))).toEqual(
    new Set(['2', '3', '4', '5', '6', '7', '8']),
  );
});
