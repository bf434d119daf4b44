import { expect, test } from 'vitest';
import { createHistory, type Match } from '../../src/rules/history.ts';

const thread = { line: '16465550100', number: '17185550123' };
const elsewhere = { ...thread, line: '16465550101' };
const at = (second: number) => new Date(Date.UTC(2026, 5, 1, 12, 0, second));
const match: Match = { ...thread, rule: 'any', mode: 'live', at: at(1), reply: 'waiting', doesMore: false };

test.each<[string, number, Partial<Match>, Partial<Match>]>([
  ['once where the ledger replaces the reply to an earlier text', 1, {}, { at: at(2) }],
  ['twice where the first does more than reply', 2, { doesMore: true }, { at: at(2), doesMore: true }],
  ['twice where the first was sent', 2, { reply: 'sent' }, { at: at(2) }],
  ['twice where the second is told of late', 2, { at: at(2) }, { at: at(1) }],
  ['twice in two threads', 2, {}, { ...elsewhere, line: '16465550102', at: at(2) }],
])('two matches of a rule count %s', (_, times, first, second) => {
  const history = createHistory([]);
  history.add({ ...match, ...first });
  history.add({ ...match, ...second });
  expect(history.earlier(match, 'contact', 86_400, elsewhere, at(30))).toBe(times);
});

test.each<[string, Partial<Match>]>([
  ['another rule', { rule: 'other' }],
  ['another mode', { mode: 'dry-run' }],
])('a reply of %s replaces none', (_, second) => {
  const history = createHistory([match]);
  history.add({ ...match, at: at(2), ...second });
  expect(history.earlier(match, 'contact', 86_400, elsewhere, at(30))).toBe(1);
});
