import { afterAll, afterEach, expect, test } from 'vitest';
import { proxyPage } from '../../sandbox/presets.ts';
import { createRulesWorld } from '../rules-world.ts';

/* Successful answers that cannot be read: they prove nothing. */

const rules = `
rules:
  - name: spam
    on: message_received
    if: message.plain == "spam"
    do: [{ assign: nobody }, { reopen: true }, { resolve: true }]
  - name: close
    on: message_received
    if: message.plain == "close"
    do: [{ resolve: { comment: Closed. } }, { comment: A note. }]
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query } = world;
afterEach(() => sandbox.faults());
afterAll(() => world.close());

const posts = (path: string) => sandbox.requests().filter((each) => each.method === 'POST' && each.path.includes(path));
const asked = (number: string) => posts(`/${number}/`).map(({ path }) => path.split('/').at(-1));

test('a proxy’s page that poses as a success proves nothing: what it kept back is asked for again', async () => {
  const number = '17185550403';
  sandbox.faults({ ...proxyPage(200), operation: 'assignConversation', times: 1 });
  await sandbox.emit.sms({ number, text: 'spam' });
  await world.rulesSettled();
  expect(asked(number)).toEqual(['assign', 'assign', 'reopen', 'resolve']);
  expect(
    await query(
      `select is_resolved, is_assignment_known from warehouse.sms_conversations where number = '17185550403'`,
    ),
  ).toEqual([{ is_resolved: true, is_assignment_known: true }]);
});

test('a note whose answer cannot be read is still not asked for twice', async () => {
  const number = '17185550402';
  sandbox.faults(
    { kind: 'answer', when: 'after', status: 200, body: '', operation: 'resolveConversation', times: 1 },
    { kind: 'answer', when: 'after', status: 201, body: '', operation: 'commentOnConversation' },
  );
  await sandbox.emit.sms({ number, text: 'close' });
  await world.rulesSettled();
  expect(await world.actions('close')).toEqual([
    { kind: 'resolve', state: 'done', reason: 'repeated without the note, which may have been posted' },
    { kind: 'comment', state: 'unclear', reason: 'the note may have been posted: unreadable' },
  ]);
  expect(asked(number)).toEqual(['resolve', 'resolve', 'comments']);
});
