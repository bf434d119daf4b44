import { beforeEach, expect, test } from 'vitest';
import type { AnswerFault } from '../../src/sandbox/faults/answers.ts';
import type { Message } from '../../src/service/entities/message.ts';
import { openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

/* A send that went out without an id in the answer, and the next one of the same words in its thread. */

const { clear, database, sandbox } = await openStage();
beforeEach(clear);

type Strike = Partial<AnswerFault> & Pick<AnswerFault, 'kind'>;
const strike = (fault: Strike) =>
  sandbox.faults({ answers: [{ times: 1, operations: ['sendMessage'], ...fault } as AnswerFault] });

/** The service does not show yet what went out. */
async function hideTexts(line: string, number: string): Promise<void> {
  const headers = { authorization: `Bearer ${sandbox.apiKey}` };
  const thread = `${sandbox.url}/api/public/v1/sms/conversations/${line}/${number}`;
  const read = (await (await fetch(thread, { headers })).json()) as { data: { messages: Message[] } };
  const out = read.data.messages.filter(({ direction }) => direction === 'out');
  for (const { id } of out) await fetch(`${thread}/messages/${id}`, { method: 'DELETE', headers });
}

test('a message that a send without an id may have become, shown late, is not taken for the next one', async () => {
  const ledger = await openLedger(database, sandbox);
  const text = 'The same words';
  const first = await ledger.answer({ text });
  const { line, number } = first;
  strike({ kind: 'fields', change: 'drop', field: 'id' } as Strike);
  expect(await ledger.dispatcher.turn(first.sendId)).toBe('sent');
  await hideTexts(line, number);
  const second = await ledger.answer(
    { text, number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('unknown');
  await sandbox.emit.sms({ line, number, direction: 'out', text, announce: false });
  await ledger.pass(second.sendId);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('unknown');
  await ledger.dispatcher.sweep(10);
  expect(await database.value(`select send_id from warehouse.sms_messages where direction = 'out'`)).toBe(first.sendId);
  await ledger.lookToTheEnd(second.sendId);
  expect(await ledger.state(second.sendId)).toBe('NEEDS_HUMAN no message matches');
});

test('a send without an id, whose message is shown and not linked yet, leaves the next one its own', async () => {
  const ledger = await openLedger(database, sandbox);
  const text = 'The same words';
  const first = await ledger.answer({ text });
  const { number } = first;
  strike({ kind: 'fields', change: 'drop', field: 'id' } as Strike);
  expect(await ledger.dispatcher.turn(first.sendId)).toBe('sent');
  const second = await ledger.answer(
    { text, number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'after' } as Strike);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('unknown');
  await ledger.pass(second.sendId);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('sent');
  await ledger.dispatcher.sweep(10);
  const sends = database.query(
    'select send_id from warehouse.sms_messages where direction = $1 order by message_id',
    'out',
  );
  expect(await sends).toEqual([{ send_id: first.sendId }, { send_id: second.sendId }]);
});
