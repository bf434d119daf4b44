import { afterAll, afterEach, expect, test } from 'vitest';
import { createDesk } from '../desk.ts';

/* Answers of success that nobody can read, to what rules ask for. */

const rules = `
rules:
  - name: spam
    on: message_received
    if: message.plain == "spam"
    do: [{ assign: nobody }, { block: { reason: Spam. } }, { reopen: true }, { resolve: true }]
  - name: close
    on: message_received
    if: message.plain == "close"
    do: [{ resolve: { comment: Closed. } }, { comment: A note. }]
`;

const desk = await createDesk(rules, 'live', 'postgres');
const { sandbox, query } = desk;
afterEach(() => sandbox.faults({}));
afterAll(() => desk.close());

const posts = (path: string) => sandbox.requests().filter((each) => each.method === 'POST' && each.path.includes(path));
const asked = (number: string) => posts(`/${number}/`).map(({ path }) => path.split('/').at(-1));

test('what is answered with an empty success was done, is asked for once, and holds nothing back', async () => {
  const number = '17185550401';
  sandbox.faults({
    answers: ['assignConversation', 'blockSender', 'reopenConversation', 'resolveConversation'].map((operation) => ({
      kind: 'empty',
      when: 'after',
      operations: [operation],
    })),
  });
  await sandbox.emit.sms({ number, text: 'spam' });
  await desk.acted();
  expect(await desk.actions('spam')).toEqual(
    ['assign', 'block', 'reopen', 'resolve'].map((kind) => ({
      kind,
      state: 'done',
      reason: 'its answer could not be read',
    })),
  );
  expect(asked(number)).toEqual(['assign', 'reopen', 'resolve']);
  expect(posts('/blocked')).toHaveLength(1);
});

test('of what an unreadable answer would have shown, nothing is made up', async () => {
  expect(
    await query(
      `select is_resolved, is_assignment_known, resolved_observed_at from warehouse.sms_conversations where number = '17185550401'`,
    ),
  ).toEqual([{ is_resolved: null, is_assignment_known: false, resolved_observed_at: null }]);
  expect(await query(`select from warehouse.blocked_senders where number = '17185550401'`)).toEqual([]);
});

test('a proxy’s page that poses as a success proves nothing: what it kept back is asked for again', async () => {
  const number = '17185550403';
  sandbox.faults({ answers: [{ kind: 'html', status: 200, operations: ['assignConversation'], times: 1 }] });
  await sandbox.emit.sms({ number, text: 'spam' });
  await desk.acted();
  expect(asked(number)).toEqual(['assign', 'assign', 'reopen', 'resolve']);
  expect(
    await query(
      `select is_resolved, is_assignment_known from warehouse.sms_conversations where number = '17185550403'`,
    ),
  ).toEqual([{ is_resolved: true, is_assignment_known: true }]);
});

test('a note whose answer cannot be read is still not asked for twice', async () => {
  const number = '17185550402';
  sandbox.faults({
    answers: [
      { kind: 'empty', when: 'after', operations: ['resolveConversation'] },
      { kind: 'empty', when: 'after', status: 201, operations: ['commentOnConversation'] },
    ],
  });
  await sandbox.emit.sms({ number, text: 'close' });
  await desk.acted();
  expect(await desk.actions('close')).toEqual([
    {
      kind: 'resolve',
      state: 'done',
      reason: 'repeated without the note, which may stand; its answer could not be read',
    },
    { kind: 'comment', state: 'unclear', reason: 'the note may stand: unreadable' },
  ]);
  expect(asked(number)).toEqual(['resolve', 'resolve', 'comments']);
});
