import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { hasOptedOut } from '../../src/ledger/gates/gates.ts';
import { readGateInputs } from '../../src/ledger/gates/inputs.ts';
import { countWaiting, decideOptOut, listWaiting } from '../../src/ledger/opt-outs.ts';
import { optOutVerdict } from '../../src/warehouse/opt-out.ts';
import { migratedDatabase } from '../world/database.ts';

/* What is said in a thread of two or of a group, and what a person decides, one after the other. */

const database = await migratedDatabase();
const { db, query } = database;

const [ours, elsewhere] = ['15559990000', '15559990007'];
const [unsure, plain] = ['not interested', 'When do you open?'];
let stories = 0;

/** Somebody of their own, whose texts come when they are said. */
function createPerson(number = `1555100${String(++stories).padStart(4, '0')}`) {
  let seenAt: Date | undefined;
  return {
    number,
    async say(text: string, { from = number, group = '', line = ours } = {}): Promise<void> {
      await query(
        `with thread as (
           insert into warehouse.sms_conversations (line, number, participants_key) values ($1, $2, $3)
           on conflict (line, number, participants_key) do update set number = excluded.number returning conversation_id
         )
         insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, from_number, body, opt_out_verdict, sent_at,
           first_seen_at, content_hash, source, fetch_seq, fetched_at)
         select conversation_id, (select count(*) from warehouse.sms_messages) + 1, $1, $2, 'in', $4, $5, $6, clock_timestamp(), clock_timestamp(),
           'h', 'test', 1, now() from thread`,
        ...[line, number, group, from, text, optOutVerdict(text)],
      );
      // Times are compared by the millisecond: what is said next is later.
      await sleep(2);
    },
    /** Looks at the texts that wait; from then on, decides on what was seen. */
    async look(): Promise<void> {
      seenAt = (await listWaiting(db, 100)).find((each) => each.number === number)?.seenAt;
    },
    decide: (decision: 'clear' | 'confirm') =>
      decideOptOut(db, number, decision, { by: 'lea', ...(seenAt && { seenAt }) }),
    async isOut(line = ours): Promise<string> {
      const subject = { line, number, trigger: { kind: 'message', id: '1', at: new Date() } } as const;
      const { optOuts } = await db.transaction().execute((tx) => readGateInputs(tx, subject));
      if (hasOptedOut(line, optOuts)) return 'out';
      return hasOptedOut(line, optOuts, 'unsure') ? 'unsure' : 'free';
    },
  };
}

test.each<[story: string, decisions: string, onLines: string, waiting: number]>([
  [plain, '', 'free', 0],
  [unsure, '', 'unsure', 1],
  [`${unsure} / ${plain}`, '', 'unsure', 1],
  [`${unsure} / clear`, 'done', 'free', 0],
  [`${unsure} / clear / clear`, 'done not_waiting', 'free', 0],
  [`${unsure} / clear / I said stop texting`, 'done', 'unsure', 1],
  [`${unsure} / START`, '', 'free', 0],
  [`${unsure} / START elsewhere`, '', 'unsure, elsewhere free', 1],
  [`${unsure} / confirm`, 'done', 'out', 0],
  [`${unsure} / confirm / clear`, 'done done', 'free', 0],
  [`${unsure} / confirm / Start`, 'done', 'free, elsewhere out', 0],
  [`${unsure} / confirm / clear / confirm / ${plain}`, 'done done done', 'out', 0],
  [`${unsure} / look / leave me alone / clear`, 'newer_text', 'unsure', 1],
  [`${unsure} / look / leave me alone / look / clear`, 'done', 'free', 0],
  [`${unsure} / STOP / clear`, 'not_waiting', 'out', 0],
  ['STOP / confirm / clear', 'done done', 'out', 0],
  ['confirm', 'done', 'out', 0],
  ['clear', 'not_waiting', 'free', 0],
])('%s', async (story, decisions, onLines, waiting) => {
  const person = createPerson();
  const decided: string[] = [];
  const before = await countWaiting(db);
  for (const step of story.split(' / ')) {
    if (step === 'look') await person.look();
    else if (step === 'clear' || step === 'confirm') decided.push(await person.decide(step));
    else if (step.endsWith(' elsewhere')) await person.say(step.replace(' elsewhere', ''), { line: elsewhere });
    else await person.say(step);
  }
  expect(decided.join(' ')).toBe(decisions);
  const [here, there] = [await person.isOut(), await person.isOut(elsewhere)];
  expect(here === there ? here : `${here}, elsewhere ${there}`).toBe(onLines);
  expect((await countWaiting(db)) - before).toBe(waiting);
});

test('a person sees the lines, the number of texts and the newest of them; the decision names them', async () => {
  const person = createPerson();
  const { number } = person;
  await person.say('I said stop texting');
  await person.say(unsure, { line: elsewhere });
  const [shown] = await listWaiting(db, 1);
  expect(shown).toMatchObject({ number, lines: [ours, elsewhere], textCount: 2, text: unsure });
  await person.decide('confirm');
  const rows = await query('select decision, source, decided_by, line from ops.opt_outs where number = $1', number);
  expect(rows).toEqual([{ decision: 'opt_out', source: 'person', decided_by: 'lea', line: '' }]);
});

const other = '15551009999';

test.each([
  ['another one opted out in it', [[other, 'STOP']], 'free'],
  ['one opted out in it', [[null, 'STOP']], 'out'],
  [
    'another one opted in',
    [
      [null, 'STOP'],
      [other, 'START'],
    ],
    'out',
  ],
] as const)('a member of a group, which goes by the number of its first member, when %s', async (_, said, end) => {
  const person = createPerson();
  for (const [from, text] of said) {
    await person.say(text, { group: `${person.number},${other}`, from: from ?? person.number });
  }
  expect(await person.isOut()).toBe(end);
});

test.each([
  ['5215512345678', '525512345678'],
  ['5491123456789', '541123456789'],
  ['5511987654321', '551187654321'],
])('%s and %s are one person to the gates and to decisions', async (wrote, other) => {
  const [person, alias] = [createPerson(wrote), createPerson(other)];
  const both = async () => [await person.isOut(), await alias.isOut()];
  await person.say(unsure);
  expect(await both()).toEqual(['unsure', 'unsure']);
  expect(await alias.decide('confirm')).toBe('done');
  expect(await both()).toEqual(['out', 'out']);
  expect(await alias.decide('clear')).toBe('done');
  expect(await both()).toEqual(['free', 'free']);
  await person.say('STOP');
  expect(await both()).toEqual(['out', 'out']);
});
