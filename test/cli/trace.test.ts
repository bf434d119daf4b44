import { describe, expect, test } from 'vitest';
import { createRulesWorld } from '../rules/rules-world.ts';
import { until } from '../world.ts';
import { runInProcess } from './in-process.ts';

const rules = `
rules:
  - name: answer
    on: message_received
    if: message.plain == "question"
    do: [{ reply: An answer. }]
    limits: { quiet_hours: none }
  - name: other
    on: message_received
    if: message.plain == "other"
    do: [{ comment: Never. }]
  - name: missed
    on: call_missed
    if: call.reached == "queue" && !contact.talked_since
    do: [{ comment: Missed. }]
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { context, deliver, query, sandbox, value } = world;

interface Story {
  readonly kind: string;
  readonly key: string;
  readonly steps: readonly { at: string; afterMs: number; step: string; subject: string; what: string }[];
  readonly pending: readonly { target: string }[];
}

const environment = { DATABASE_URL: context.settings.databaseUrl, TIME_ZONE: 'Asia/Tokyo' };
const run = (...args: string[]) => runInProcess(environment, 'trace', ...args);

async function story(...args: string[]): Promise<Story> {
  const { code, out, err } = await run(...args, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as Story;
}

const number = '17185550411';

describe('a text with an automatic answer', async () => {
  const { id, line } = await sandbox.emit.sms({ number, text: 'Question?', announce: false });
  const answer = await deliver('AccountSMS', { id, direction: 'received', fromNumber: number, toNumber: line });
  const { delivery } = (await answer.json()) as { delivery: string };
  await until(async () => (await value(`select count(*)::integer from ops.sends where state = 'SENT'`)) === 1);
  await world.rulesSettled();
  const [send] = await query<{ id: string }>('select send_id as id from ops.sends');

  test.each(['delivery', 'message'])('is told from the webhook to the send, by its %s', async (kind) => {
    const { steps } = await story(kind, String(kind === 'delivery' ? delivery : id));
    expect(steps.map(({ at }) => at)).toEqual(steps.map(({ at }) => at).toSorted());
    expect(steps[0]).toMatchObject({ step: 'received', subject: `delivery ${delivery}` });
    const told = steps.map(({ step, subject, what }) => `${step}: ${subject}: ${what}`);
    const order = [
      'received: delivery',
      `mirrored: message ${id}: inbound, new`,
      'rules: rule answer: message_received, live: matched',
      `sends: send ${send?.id}: PLANNED, by the rule answer`,
      `sends: send ${send?.id}: SENT`,
      'rules: rule answer: reply: done',
    ].map((begin) => told.findIndex((each) => each.startsWith(begin)));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
    expect(told.join('\n')).not.toContain('rule other');
    expect(told.filter((each) => each.startsWith('enqueued') || each.startsWith('read'))).not.toEqual([]);
    expect(told.join('\n')).not.toContain(number);
  });

  test('is part of the story of its thread, for people in TIME_ZONE and with numbers masked', async () => {
    const { code, out } = await run(`${line}/${number}`);
    expect(code).toBe(0);
    expect(out).toContain('in times of Asia/Tokyo');
    expect(out).toContain(`message ${id}`);
    expect(out).toContain('…0411');
    expect(out).not.toContain(number);
    expect(out).toContain('`npx trunkline rules explain LINE/NUMBER` says which clause it was.');
    expect((await run('message', String(id))).out).toContain(`\`npx trunkline rules explain ${id}\``);
    const [first] = (await story(`${line}/${number}`)).steps;
    const hour = (new Date(first?.at ?? '').getUTCHours() + 9) % 24;
    expect(out).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\d ${String(hour).padStart(2, '0')}:\\d\\d:\\d\\d\\.\\d{3} `, 'm'),
    );
  });

  test('is told by the id of the answer, with the send before it', async () => {
    const sent = await value('select message_id::text from ops.sends');
    await world.settled();
    const { steps } = await story('message', String(sent));
    expect(steps.filter(({ step }) => step === 'sends').map(({ what }) => what.split(/[,:]/)[0])).toEqual(
      expect.arrayContaining(['PLANNED', 'RESERVED', 'DISPATCHED', 'SENT']),
    );
  });
});

test('a call is told with its recordings and transcripts', async () => {
  const call = await sandbox.emit.call({
    status: 'answered',
    recorded: true,
    recordingAfterMs: 0,
    transcriptAfterMs: 0,
  });
  const isWhole = `select recordings_state = 'complete' and transcripts_state = 'complete' from warehouse.calls where call_id = $1`;
  await until(async () => (await value(isWhole, call.id)) === true);
  await world.settled();
  const { kind, key, steps } = await story(call.id);
  expect({ kind, key }).toEqual({ kind: 'call', key: call.id });
  const subjects = steps.filter(({ step }) => step === 'mirrored').map(({ subject }) => subject.split(' ')[0]);
  expect(new Set(subjects)).toEqual(new Set(['call', 'recording', 'transcript']));
  expect(steps.map(({ step }) => step)).toEqual(expect.arrayContaining(['received', 'enqueued', 'read', 'mirrored']));
  expect(steps.find(({ step }) => step === 'read')?.what).toMatch(/^through the API for delivery \d+: done$/);
});

test('of a call it is told why a rule matched', async () => {
  const legs = [{ calledType: 'ivr' }, { calledType: 'queue', status: 'cancel', ringSeconds: 20 }] as const;
  const { id } = await sandbox.emit.call({ direction: 'inbound', status: 'missed', group: 'Service', legs: [...legs] });
  await until(
    async () => (await value('select count(*)::integer from ops.rule_runs where trigger_key = $1', id)) === 1,
  );
  const { steps } = await story(id);
  expect(steps.filter(({ step }) => step === 'rules').map(({ what }) => what)).toContain(
    'call_missed, live: matched, since call.reached = "queue", contact.talked_since = false',
  );
});

test('what is still to read is told', async () => {
  const missing = `${Math.floor(Date.now() / 1_000)}.404404`;
  await deliver('AccountEndedCalls', { callId: missing });
  await until(async () => (await value('select misses from ops.sync_targets where key = $1', missing)) === 1);
  const { out } = await run(missing);
  expect(out).toMatch(/ pending +call \d+\.404404 +failing, attempts: 1 \(/m);
});

test.each([
  ['42424242', 1, 'Nothing is known of a delivery 42424242 and no text 42424242'],
  ['18005550100', 1, 'are kept. If it is a phone number, name the thread: `npx trunkline trace LINE/NUMBER`.'],
  ['1700000000.1', 1, 'Nothing is known of a call 1700000000.1'],
  ['18005550100/12125559999', 1, 'Nothing is known of a thread …0100/…9999'],
  ['call', 2, 'Name the call'],
  ['delivery', 2, 'Name a delivery'],
  ['nothing', 2, 'Name a delivery'],
  ['sends 4', 2, 'is none of delivery, call, thread, message'],
])('trace %s ends with %i', async (words, code, said) => {
  const ended = await run(...words.split(' '));
  expect(ended).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
});
