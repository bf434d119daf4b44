import { afterAll, describe, expect, test } from 'vitest';
import { backends } from '../stores/backends.ts';
import { createWorld, until, type World } from '../world.ts';

const worlds = new Map<string, World>();
for (const backend of backends)
  worlds.set(backend, await createWorld({ backend, sandbox: { deliveryRetriesMs: [50] } }));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

describe.each(backends)('on %s', (backend) => {
  const world = worlds.get(backend) as World;
  const { sandbox, query, value } = world;

  test('users and lines are mirrored at the start', async () => {
    await world.settled();
    expect(await value('select count(*)::integer from warehouse.users')).toBeGreaterThan(0);
    expect(await value('select count(*)::integer from warehouse.sms_lines')).toBeGreaterThan(0);
  });

  test('a text is mirrored, and so is its receipt', async () => {
    const { id, number } = await sandbox.emit.sms({
      direction: 'out',
      number: '15551110001',
      text: 'On our way',
      delivery: 'delivered',
    });
    await world.settled();
    expect(await query('select body, direction from warehouse.sms_messages where number = $1', number)).toEqual([
      { body: 'On our way', direction: 'out' },
    ]);
    await until(
      async () =>
        (await value('select delivery_status from warehouse.sms_messages where message_id = $1', id)) === 'delivered',
    );
    expect(
      await query('select delivery_status from warehouse.sms_message_delivery_events where message_id = $1', id),
    ).toEqual([{ delivery_status: 'delivered' }]);
  });

  test('a receipt that names nothing but its text has the thread read again', async () => {
    const { id, number } = await sandbox.emit.sms({ direction: 'out', number: '15551115001', text: 'At nine' });
    await world.settled();
    await sandbox.emit.sms({ number, text: 'Nobody told of this', announce: false });
    const answer = await world.deliver('AccountSMS', { messageId: id, status: 'delivered', timestamp: 1 });
    expect(await answer.json()).toMatchObject({ received: 1 });
    await world.settled();
    expect(
      await query('select body from warehouse.sms_messages where number = $1 order by message_id', number),
    ).toEqual([{ body: 'At nine' }, { body: 'Nobody told of this' }]);
  });

  test('a call is mirrored with legs, recording and transcript', async () => {
    const { id, legs, recordings, transcriptIds } = await sandbox.emit.call({
      direction: 'inbound',
      status: 'answered',
      recorded: true,
      transfers: 0,
      durationSeconds: 120,
      recordingAfterMs: 0,
      transcriptAfterMs: 200,
    });
    expect(recordings.length).toBeGreaterThan(0);
    const isWhole = `select transcripts_state = 'complete' and recordings_state = 'complete' and leg_count > 0
      from warehouse.calls where call_id = $1`;
    await until(async () => (await value(isWhole, id)) === true);
    expect(
      await query(
        'select recordings_state, recording_count, transcript_count, leg_count from warehouse.calls where call_id = $1',
        id,
      ),
    ).toEqual([
      {
        recordings_state: 'complete',
        recording_count: recordings.length,
        transcript_count: transcriptIds.length,
        leg_count: legs.length,
      },
    ]);
    expect(await query('select leg_pairing from warehouse.transcripts where call_id = $1', id)).toEqual(
      transcriptIds.map(() => ({ leg_pairing: 'exact' })),
    );
  });

  test('a recording that comes late is found at a later look', async () => {
    const { id } = await sandbox.emit.call({
      direction: 'inbound',
      status: 'answered',
      recorded: true,
      recordingAfterMs: 600,
      transcriptAfterMs: null,
    });
    await until(
      async () => (await value('select recordings_state from warehouse.calls where call_id = $1', id)) === 'complete',
    );
    await until(
      async () => (await value('select transcripts_state from warehouse.calls where call_id = $1', id)) === 'none',
    );
  });
});
