import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { backends } from '../stores/backends.ts';
import { createWorld, until, type World } from '../world.ts';

/* What becomes of reads in hand when workers close: queues/contract.ts and cli/stop.all.test.ts. */

const worlds = new Map<string, World>();
for (const backend of backends)
  worlds.set(backend, await createWorld({ backend, workers: null, sandbox: { deliveryRetriesMs: [50] } }));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

describe.each(backends)('on %s', (backend) => {
  const world = worlds.get(backend) as World;
  const { sandbox, query, value, settled } = world;
  const work = async () => {
    const workers = await world.work();
    onTestFinished(() => workers.close(2_000));
    return workers;
  };
  const count = (table: string) => value(`select count(*)::integer from warehouse.${table}`);
  const ofCall = (columns: string, id: string) =>
    value(`select ${columns} from warehouse.calls where call_id = $1`, id);
  const bodiesOf = async (number: string) =>
    (await query<{ body: string }>('select body from warehouse.sms_messages where number = $1 order by 1', number)).map(
      ({ body }) => body,
    );

  test('users and lines are mirrored at the start', async () => {
    await work();
    await settled();
    expect(await count('users')).toBeGreaterThan(0);
    expect(await count('sms_lines')).toBeGreaterThan(0);
  });

  test('a text is mirrored, and so is its receipt', async () => {
    await work();
    const sent = { direction: 'out', number: '15551110001', text: 'On our way', delivery: 'delivered' } as const;
    const { id, number } = await sandbox.emit.sms(sent);
    const status = (table: string) => value(`select delivery_status from warehouse.${table} where message_id = $1`, id);
    await until(async () => (await status('sms_messages')) === 'delivered');
    expect(await bodiesOf(number)).toEqual(['On our way']);
    expect(await status('sms_message_delivery_events')).toBe('delivered');
  });

  test('a call is mirrored with legs, and with a recording and a transcript that come late', async () => {
    await work();
    const late = { recordingAfterMs: 600, transcriptAfterMs: 800 };
    const recorded = { direction: 'inbound', status: 'answered', recorded: true, transfers: 0 } as const;
    const { id, legs, recordings, transcriptIds } = await sandbox.emit.call({ ...recorded, ...late });
    const states = `concat_ws(' ', recordings_state, recording_count, transcripts_state, transcript_count, leg_count)`;
    const whole = `complete ${recordings.length} complete ${transcriptIds.length} ${legs.length}`;
    expect(recordings.length).toBeGreaterThan(0);
    await until(async () => (await ofCall(states, id)) === whole);
    expect(await value('select max(leg_pairing) from warehouse.transcripts where call_id = $1', id)).toBe('exact');
  });
});
