import { expect } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome, type Reply } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';

const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const file = (filename = 'a.gif', contentType = 'image/gif', content = gif) => ({ filename, contentType, content });
const megabyte = 1024 * 1024;
const base64Of = (bytes: number) => Buffer.alloc(bytes).toString('base64');

/** A send from the open line to fresh numbers, with changes. */
const send =
  (changes: Record<string, unknown> = {}, recipients = 1) =>
  async (context: CaseContext) => ({
    body: {
      from: await context.line(),
      to: Array.from({ length: recipients }, () => context.freshNumber()),
      message: 'hello',
      ...changes,
    },
  });

const without = (field: string) => async (context: CaseContext) => {
  const { body } = await send()(context);
  return { body: Object.fromEntries(Object.entries(body).filter(([name]) => name !== field)) };
};

const bare = { only: 'bare' } as const;
const operation = 'sendMessage';
const needs = 'send';
const refused = (section: string, rows: Parameters<typeof refusals>[1]) =>
  refusals({ section, operation, needs }, rows);

function sent(
  name: string,
  section: string,
  request: (context: CaseContext) => Promise<{ body: unknown }>,
  data?: object,
) {
  return row({ name, section, operation, needs, request, expect: { status: 201, ...(data && { data }) } });
}

/** Sections 2.2, 2.3, 4.1 and 8: sending, without what it costs. */
export const sending: readonly Case[] = [
  ...refused('2.2', [['a send without from is refused', without('from'), bare]]),
  ...refused('2.2', [
    ['a send without to is refused', without('to'), bare],
    ['a send to a text instead of a list is refused', send({ to: '12125550100' }), bare],
  ]),
  ...refused('8', [['a send to nobody is refused', send({ to: [] })]]),
  ...refused('8', [['a send to 21 recipients is refused', send({}, 21)]]),
  ...refused('2.2', [
    ['a send without message and attachments is refused', without('message')],
    ['a send with an empty message is refused', send({ message: '' })],
  ]),
  ...refused('2.2', [['a send of white space alone is refused', send({ message: ' \n\t ' })]]),
  ...refused('8', [
    ['a message of 2,001 bytes is refused', send({ message: 'a'.repeat(2_001) })],
    ['a message of 1,001 two-byte letters is refused', send({ message: 'é'.repeat(1_001) })],
  ]),
  ...refused('2.2', [['a file without extension is refused', send({ attachments: [file('picture')] })]]),
  ...refused('2.2', [
    ['a file of another type is refused', send({ attachments: [file('a.pdf', 'application/pdf')] })],
    ['a picture of another type is refused', send({ attachments: [file('a.webp', 'image/webp')] })],
  ]),
  ...refused('2.2', [
    ['content that is no base64 is refused', send({ attachments: [file('a.gif', 'image/gif', 'not base64!')] })],
    ['content in the alphabet of addresses is refused', send({ attachments: [file('a.gif', 'image/gif', '-_-_')] })],
  ]),
  ...refused('2.2', [
    [
      'a file without content is refused',
      send({ attachments: [{ filename: 'a.gif', contentType: 'image/gif' }] }),
      bare,
    ],
    ['a file without name is refused', send({ attachments: [{ content: gif, contentType: 'image/gif' }] }), bare],
    ['a file without type is refused', send({ attachments: [{ content: gif, filename: 'a.gif' }] }), bare],
  ]),
  ...refused('8', [
    ['eleven files are refused', send({ attachments: Array.from({ length: 11 }, (_, i) => file(`${i}.gif`)) })],
  ]),
  ...refused('8', [
    [
      'a file of more than 5 MB is refused',
      send({ attachments: [file('a.gif', 'image/gif', base64Of(5 * megabyte + 1))] }),
    ],
  ]),
  ...refused('2.2', [
    ['an unknown field of a send is refused', send({ priority: 'high' }), bare],
    ['an unknown field of a file is refused', send({ attachments: [{ ...file(), size: 1 }] }), bare],
  ]),

  sent('formatting in from is stripped', '2.2', async (context) => {
    const { body } = await send()(context);
    const { from } = body;
    return { body: { ...body, from: `+${from[0]} (${from.slice(1, 4)}) ${from.slice(4, 7)}-${from.slice(7)}` } };
  }),
  sent('attachments need no message', '2.2', async (context) => {
    const { body } = await without('message')(context);
    return { body: { ...body, attachments: [file()] } };
  }),
  sent('white space goes along with attachments', '2.2', send({ message: ' ', attachments: [file()] })),
  sent('twenty recipients are taken', '8', send({}, 20), { billing: { recipientCount: 20 } }),
  sent('a message of 2,000 bytes is taken', '8', send({ message: 'a'.repeat(2_000) })),
  sent('ten files are taken', '8', send({ attachments: Array.from({ length: 10 }, (_, i) => file(`${i}.gif`)) })),
  sent('a file of 5 MB is taken', '8', send({ attachments: [file('a.gif', 'image/gif', base64Of(5_000_000))] })),
  sent(
    'the four picture types are taken',
    '8',
    send({
      attachments: [file('a.jpg', 'image/jpeg'), file('a.png', 'image/png'), file('a.bmp', 'image/bmp'), file()],
    }),
  ),
  row({
    name: '21 recipients of whom two are the same are 20',
    section: '8',
    operation,
    needs,
    async request(context) {
      const { body } = await send({}, 20)(context);
      return { body: { ...body, to: [...body.to, body.to[0]] } };
    },
    expect: { status: 201, data: { billing: { recipientCount: 20, skippedCount: 1 } } },
  }),
  row({
    name: "a from that is not the account's is denied",
    section: '7',
    operation,
    needs,
    request: async (context) => send({ from: context.freshNumber() })(context),
    expect: { status: 403, type: 'permission_denied' },
  }),
  {
    name: 'every listed line is accepted as from, bulk or not',
    section: '4.1',
    operations: ['listLines', operation],
    needs,
    async run(context) {
      for (const { number } of (await context.bare('listLines')).data) {
        expect((await context.ask(operation, await send({ from: number })(context))).status).toBe(201);
      }
    },
  },
  {
    name: 'the answer of a send has all that is promised',
    section: '2.3',
    operations: [operation],
    needs,
    async run(context) {
      const request = await send()(context);
      const { status, data } = await context.ask(operation, request);
      expect(status).toBe(201);
      expect(data.billing).toMatchObject({ billed: true, currency: 'USD', recipientCount: 1, skippedCount: 0 });
      expect(data.messages).toMatchObject([{ to: request.body.to, type: 'sms', status: 'sent' }]);
      expect(data.messages[0]).not.toHaveProperty('media');
      const { id } = data.messages[0];
      expect(id === undefined || Number.isInteger(id)).toBe(true);
      expect(data).toMatchObject({ from: request.body.from, skipped: [] });
    },
  },
  {
    name: 'hosted files stand in the order given and anyone can fetch them',
    section: '2.3',
    operations: [operation],
    needs,
    async run(context) {
      const pictures = [file('first.png', 'image/png', base64Of(3)), file('second.gif')];
      const { data } = await context.ask(operation, await send({ attachments: pictures })(context));
      const fetched: Buffer[] = [];
      for (const url of data.messages[0].media) fetched.push(Buffer.from(await (await fetch(url)).arrayBuffer()));
      expect(fetched.map((bytes) => bytes.toString('base64'))).toEqual(pictures.map(({ content }) => content));
    },
  },
  {
    name: 'skipped recipients stand as supplied, each with its reason, and are not charged',
    section: '2.3',
    operations: [operation],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const [line, gone, reached] = [await context.line(), context.freshNumber(), context.freshNumber()];
      await context.control.sms({ line, number: gone, text: 'STOP' });
      const again = `+1 (${reached.slice(1, 4)}) ${reached.slice(4, 7)}-${reached.slice(7)}`;
      const reply = await context.ask(operation, {
        body: { from: line, to: [gone, reached, again, 'nobody'], message: 'hello' },
      });
      expect(reply.status).toBe(201);
      expect(new Set(reply.data.skipped)).toEqual(
        new Set([
          { to: gone, reason: 'opted_out' },
          { to: again, reason: 'duplicate' },
          { to: 'nobody', reason: 'invalid' },
        ]),
      );
      expect(reply.data.billing).toMatchObject({ recipientCount: 1, skippedCount: 3 });
      expect(reply.data.messages).toMatchObject([{ to: [reached] }]);
    },
  },
  {
    name: 'a send whose recipients are all skipped answers 200 and costs nothing',
    section: '4.1',
    operations: [operation],
    needs,
    async run(context) {
      const reply = await context.ask(operation, await send({ to: ['nobody'] })(context));
      expect(reply.status).toBe(200);
      expect(reply.data).toMatchObject({
        messages: [],
        skipped: [{ to: 'nobody', reason: 'invalid' }],
        billing: { billed: true, currency: 'USD', units: 0, totalPrice: 0, recipientCount: 0, skippedCount: 1 },
      });
    },
  },
  {
    name: 'a destination without rate answers 422, and nothing is sent or charged',
    section: '7',
    operations: [operation],
    needs: 'control',
    async run(context) {
      const reply = await chargesOf(context, async () =>
        context.ask(operation, await send({ to: ['8821612345678'] })(context)),
      );
      expect(reply).toEqual({ reply: { status: 422, type: 'invalid_request' }, charges: 0 });
    },
  },
  {
    name: 'what is refused, or fails, is not charged',
    section: '7',
    operations: [operation],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const tooLong = await send({ message: 'a'.repeat(2_001) })(context);
      expect(await chargesOf(context, () => context.ask(operation, tooLong))).toMatchObject({
        reply: { status: 400 },
        charges: 0,
      });
      const good = await send()(context);
      await context.control.faults({ kind: 'answer' });
      try {
        expect(await chargesOf(context, () => context.ask(operation, good))).toMatchObject({
          reply: { status: 500 },
          charges: 0,
        });
      } finally {
        await context.control.faults();
      }
      expect(await chargesOf(context, () => context.ask(operation, good))).toMatchObject({
        reply: { status: 201 },
        charges: 1,
      });
    },
  },
  {
    name: 'a token sends as its user, who is named as the sender',
    section: '2.6',
    operations: [operation, 'readThread'],
    needs: 'control',
    async run(context) {
      const { line, number } = await context.freshPair();
      const body = { from: line, to: [number], message: 'hello' };
      expect((await context.ask(operation, { body }, await context.token())).status).toBe(201);
      expect((await context.ask(operation, { body })).status).toBe(201);
      const { data } = await context.ask('readThread', { path: { line, number } });
      const senders = data.messages.map(({ sentBy }: { sentBy?: number }) => sentBy);
      expect(new Set(senders)).toEqual(new Set([await context.userId(), undefined]));
      expect(data.messages.every((message: object) => !('sentBy' in message) || message.sentBy !== null)).toBe(true);
    },
  },
];

async function chargesOf(context: CaseContext, ask: () => Promise<Reply>): Promise<{ reply: Reply; charges: number }> {
  const before = await context.control.charges();
  const reply = outcome(await ask());
  return { reply, charges: (await context.control.charges()) - before };
}
