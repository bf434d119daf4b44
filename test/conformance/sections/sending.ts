import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import type { Request } from '../operations.ts';
import { ask, formatted, freshNumber, freshPair, line, sandbox, send, token, told, under, userId } from '../service.ts';

const operation = 'sendMessage';
const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
export const file = (filename = 'a.gif', contentType = 'image/gif', content = gif) => ({
  filename,
  contentType,
  content,
});
const files = (count: number) => Array.from({ length: count }, (_, i) => file(`${i}.gif`));
const withFile = (...given: object[]) => send({ attachments: given });
const base64Of = (bytes: number) => Buffer.alloc(bytes).toString('base64');
const ofSize = (bytes: number) => file('a.gif', 'image/gif', base64Of(bytes));
const four = [file('a.jpg', 'image/jpeg'), file('a.png', 'image/png'), file('a.bmp', 'image/bmp'), file()];

async function twiceTheSame() {
  const { body } = await send({}, 20)();
  return { body: { ...body, to: [...body.to, body.to[0]] } };
}

/** The outcome, and how many sends were charged for it. */
async function charged(request: Request): Promise<[outcome: string, charges: number]> {
  const charges = () => sandbox.sends().filter(({ charge }) => charge !== null).length;
  const before = charges();
  const { outcome } = await ask(operation, request);
  return [outcome, charges() - before];
}

/** Sections 2.2, 2.3, 4.1 and 8: sending, without what it costs. */
export const sending: readonly Case[] = [
  ...refusals('2.2 send', operation, {
    'a send without from is refused': send({ from: undefined }),
    'a send without to is refused': send({ to: undefined }),
    'a send to a text instead of a list is refused': send({ to: '12125550100' }),
    'a send without message and attachments is refused': send({ message: undefined }),
    'a send with an empty message is refused': send({ message: '' }),
    'a send of white space alone is refused': send({ message: ' \n\t ' }),
    'a file without extension is refused': withFile(file('picture')),
    'a file of another type is refused': withFile(file('a.pdf', 'application/pdf')),
    'a picture of another type is refused': withFile(file('a.webp', 'image/webp')),
    'content that is no base64 is refused': withFile(file('a.gif', 'image/gif', 'not base64!')),
    'content in the alphabet of addresses is refused': withFile(file('a.gif', 'image/gif', '-_-_')),
    'a file without content is refused': withFile({ ...file(), content: undefined }),
    'a file without name is refused': withFile({ ...file(), filename: undefined }),
    'a file without type is refused': withFile({ ...file(), contentType: undefined }),
    'an unknown field of a send is refused': send({ priority: 'high' }),
    'an unknown field of a file is refused': withFile({ ...file(), size: 1 }),
  }),
  ...refusals('8 send', operation, {
    'a send to nobody is refused': send({ to: [] }),
    'a send to 21 recipients is refused': send({}, 21),
    'a message of 2,001 bytes is refused': send({ message: 'a'.repeat(2_001) }),
    'a message of 1,001 two-byte letters is refused': send({ message: 'é'.repeat(1_001) }),
    'eleven files are refused': withFile(...files(11)),
    'a file of more than 5 MB is refused': withFile(ofSize(5 * 1024 * 1024 + 1)),
  }),
  ...rows('2.2 send', operation, {
    'formatting in from is stripped': [async () => send({ from: `+1 ${formatted(await line())}` })(), '201'],
    'attachments need no message': [send({ message: undefined, attachments: [file()] }), '201'],
    'white space goes along with attachments': [send({ message: ' ', attachments: [file()] }), '201'],
  }),
  ...rows('8 send', operation, {
    'twenty recipients are taken': [send({}, 20), [201, { billing: { recipientCount: 20 } }]],
    'a message of 2,000 bytes is taken': [send({ message: 'a'.repeat(2_000) }), '201'],
    'ten files are taken': [withFile(...files(10)), '201'],
    'a file of 5 MB is taken': [withFile(ofSize(5_000_000)), '201'],
    'the four picture types are taken': [withFile(...four), '201'],
    '21 recipients of whom two are the same are 20': [
      twiceTheSame,
      [201, { billing: { recipientCount: 20, skippedCount: 1 } }],
    ],
  }),
  ...rows('7 send', operation, {
    "a from that is not the account's is denied": [send({ from: freshNumber() }), '403 permission_denied'],
  }),
  ...cases('4.1 send', {
    async 'every listed line is accepted as from, bulk or not'() {
      for (const { number } of await told('listLines')) await told(operation, await send({ from: number })());
    },
  }),
  ...cases('2.3 send', {
    async 'the answer of a send has all that is promised'() {
      const request = await send()();
      const answer = await told(operation, request);
      const { from, to } = request.body;
      expect(answer).toMatchObject({ from, skipped: [], messages: [{ to, type: 'sms', status: 'sent' }] });
      expect(answer.billing).toMatchObject({ billed: true, currency: 'USD', recipientCount: 1, skippedCount: 0 });
      const [message] = answer.messages;
      expect(message).not.toHaveProperty('media');
      expect(message.id === undefined || Number.isInteger(message.id)).toBe(true);
    },
    async 'hosted files stand in the order given and anyone can fetch them'() {
      const pictures = [file('first.png', 'image/png', base64Of(3)), file('second.gif')];
      const { messages } = await told(operation, await withFile(...pictures)());
      const fetched: string[] = [];
      for (const url of messages[0].media) {
        fetched.push(Buffer.from(await (await fetch(url)).arrayBuffer()).toString('base64'));
      }
      expect(fetched).toEqual(pictures.map(({ content }) => content));
    },
  }),
  ...cases('2.3 control', {
    async 'skipped recipients stand as supplied, each with its reason, and are not charged'() {
      const [from, gone, reached] = [await line(), freshNumber(), freshNumber()];
      await sandbox.emit.sms({ line: from, number: gone, text: 'STOP' });
      const again = `+1 ${formatted(reached)}`;
      const answer = await told(operation, await send({ to: [gone, reached, again, 'nobody'] })());
      const reasons = answer.skipped.map(({ to, reason }: { to: string; reason: string }) => [to, reason]);
      expect(Object.fromEntries(reasons)).toEqual({ [gone]: 'opted_out', [again]: 'duplicate', nobody: 'invalid' });
      expect(answer.billing).toMatchObject({ recipientCount: 1, skippedCount: 3 });
      expect(answer.messages).toMatchObject([{ to: [reached] }]);
    },
  }),
  ...rows('4.1 send', operation, {
    'a send whose recipients are all skipped answers 200 and costs nothing': [
      send({ to: ['nobody'] }),
      [
        200,
        {
          messages: [],
          skipped: [{ to: 'nobody', reason: 'invalid' }],
          billing: { billed: true, currency: 'USD', units: 0, totalPrice: 0, recipientCount: 0, skippedCount: 1 },
        },
      ],
    ],
  }),
  ...cases('7 control', {
    async 'a destination without rate answers 422, and nothing is sent or charged'() {
      expect(await charged(await send({ to: ['8821612345678'] })())).toEqual(['422 invalid_request', 0]);
    },
    async 'what is refused, or fails, is not charged'() {
      expect(await charged(await send({ message: 'a'.repeat(2_001) })())).toEqual(['400 invalid_request', 0]);
      const good = await send()();
      expect(await under({ kind: 'answer' }, () => charged(good))).toEqual(['500 internal_error', 0]);
      expect(await charged(good)).toEqual(['201', 1]);
    },
  }),
  ...cases('2.6 control', {
    async 'a token sends as its user, who is named as the sender'() {
      const path = await freshPair();
      const request = await send({ from: path.line, to: [path.number] })();
      await told(operation, request, await token());
      await told(operation, request);
      const { messages } = await told('readThread', { path });
      const senders = messages.map((message: object) => ('sentBy' in message ? message.sentBy : 'nobody'));
      expect(new Set(senders)).toEqual(new Set([await userId(), 'nobody']));
    },
  }),
];
