import { expect, test } from 'vitest';
import type { Service } from '../../../src/api-client/client.ts';
import { json, listen, open, refusalOf } from '../endpoint.ts';

const pair = { line: '18457511133', number: '18455008085' };
const group = { ...pair, groupParticipants: ['1', '2'] } as unknown as typeof pair;
const send = { from: pair.line, to: [pair.number], message: 'hi' };
const hook = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
const day = 86_400;
const numberWanted = /is no phone number: give 3 to 15 digits/;

test.each<[string, (service: Service) => Promise<unknown>, RegExp]>([
  ['messages.send', (s) => s.messages.send({ ...send, from: 'Sales' }), /`from` is no phone number/],
  ['messages.send', (s) => s.messages.send({ ...send, to: [] }), /`to` is empty.*section 2\.2/],
  ['messages.send', (s) => s.messages.send({ ...send, message: ' ' }), /`message` is empty or only white space/],
  ['conversations.read', (s) => s.conversations.read({ ...pair, line: 'a' }), numberWanted],
  ['conversations.read', (s) => s.conversations.read(pair, { limit: 1.5 }), /`limit` should be an integer/],
  ['conversations.read', (s) => s.conversations.read(pair, { offset: -1 }), /`offset` should be an integer/],
  ['conversations.resolve', (s) => s.conversations.resolve({ ...pair, number: '12' }), /`number` is no phone/],
  ['conversations.resolve', (s) => s.conversations.resolve(pair, { comment: '' }), /`comment` is empty/],
  ['conversations.resolve', (s) => s.conversations.resolve(pair, { resolvedBy: 0.5 }), /`resolvedBy` should be/],
  ['conversations.resolve', (s) => s.conversations.resolve(group), /only a read can name/],
  ['conversations.comment', (s) => s.conversations.comment(pair, ''), /`comment` is empty/],
  ['conversations.assign', (s) => s.conversations.assign(pair, Number.NaN), /`userId` should be an integer/],
  ['conversations.reopen', (s) => s.conversations.reopen({ ...pair, line: '' }), /`line` is no phone number/],
  [
    'conversations.markMessages',
    (s) => s.conversations.markMessages(pair, { messageIds: [] }),
    /`messageIds` is empty/,
  ],
  ['conversations.deleteMessage', (s) => s.conversations.deleteMessage(pair, 1.5), /`id` should be an integer/],
  ['conversations.deleteMessage', (s) => s.conversations.deleteMessage(group, 1), /only a read can name/],
  ['conversations.delete', (s) => s.conversations.delete(group), /only a read can name/],
  ['conversations.delete', (s) => s.conversations.delete({ ...pair, number: 'x' }), /`number` is no phone number/],
  ['lines.block', (s) => s.lines.block(pair.line, { number: 'x' }), /`number` is no phone number/],
  ['lines.blocked', (s) => s.lines.blocked('x', pair.number), /`line` is no phone number/],
  ['lines.markRead', (s) => s.lines.markRead('x'), /`line` is no phone number/],
  ['lines.markRead', (s) => s.lines.markRead(pair.line, { since: 'yesterday' }), /`since` should be a valid Date/],
  ['unread.counts', (s) => s.unread.counts({ lines: [] }), /`lines` is empty/],
  ['unread.counts', (s) => s.unread.counts({ lines: [pair.line, 'x'] }), /`lines\[1\]` is no phone number/],
  ['unread.counts', (s) => s.unread.counts({ since: new Date(Number.NaN) }), /`since` should be a valid Date/],
  ['drafts.put', (s) => s.drafts.put('', 'x'), /`draftId` is empty/],
  ['drafts.delete', (s) => s.drafts.delete('k'.repeat(129)), /`draftId` has 129 characters and 128 is the most/],
  ['templates.delete', (s) => s.templates.delete(1.5), /`id` should be an integer/],
  ['calls.search', (s) => s.calls.search({ start: 0, end: 366 * day + 1 }), /more than 366 days after `start`/],
  ['calls.get', (s) => s.calls.get('abc'), /a Unix time, a dot and a sequence number/],
  ['calls.recordings', (s) => s.calls.recordings(1783385492.0579 as unknown as string), /as a number it loses/],
  ['calls.transcripts', (s) => s.calls.transcripts(''), /a Unix time, a dot and a sequence number/],
  ['webhooks.get', (s) => s.webhooks.get(1.5), /`id` should be an integer/],
  ['webhooks.create', (s) => s.webhooks.create({ ...hook, url: 'example.test' }), /`url` should be a whole address/],
  ['webhooks.update', (s) => s.webhooks.update(7, { url: 'ftp://example.test' }), /`url` should be a whole address/],
  ['webhooks.update', (s) => s.webhooks.update(Number.NaN, {}), /`id` should be an integer/],
  ['webhooks.enable', (s) => s.webhooks.enable(0.1), /`id` should be an integer/],
  ['webhooks.disable', (s) => s.webhooks.disable(0.1), /`id` should be an integer/],
  ['webhooks.remove', (s) => s.webhooks.remove(0.1), /`id` should be an integer/],
])('%s refuses before anything leaves: %3$s', async (operation, call, message) => {
  const { url, seen } = await listen((response) => json(response, 200, { data: [] }));
  const error = await refusalOf(call(open(url)));
  expect(error).toMatchObject({ code: 'invalid_request', advice: 'refused', effect: 'none', operation });
  expect(error.status).toBeUndefined();
  expect(error.message).toMatch(message);
  expect(error.message).toMatch(/\(section \d(\.\d+)?\)$/);
  expect(seen).toHaveLength(0);
});

test('what is refused asks for no credential and rests no circuit', async () => {
  const { url } = await listen((response) => json(response, 200, { data: [] }));
  const credential = { authorization: () => Promise.reject(new Error('nobody should ask')), renew: async () => false };
  const { messages, calls, circuit } = open(url, { credential, circuit: { failures: 1 } });
  expect(await refusalOf(messages.send({ ...send, to: [] }))).toMatchObject({ code: 'invalid_request' });
  expect(await refusalOf(calls.get('abc'))).toMatchObject({ code: 'invalid_request' });
  expect(circuit.state()).toEqual({ state: 'closed' });
});

test('a refusal repeats neither a number, nor a text, nor an address', async () => {
  const { messages, webhooks, lines } = open('http://service.test');
  const secret = '5550001';
  const calls = [
    messages.send({ ...send, from: `x${secret}` }),
    messages.send({ ...send, message: secret.repeat(400) }),
    webhooks.update(7, { url: `token:${secret}` }),
    lines.markRead(pair.line, { since: secret }),
  ];
  for (const call of calls) expect((await refusalOf(call)).message).not.toContain(secret);
});
