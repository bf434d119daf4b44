import { test, vi } from 'vitest';
import { deployForSuite } from '../deployment/suite.ts';
import { startLoad } from '../load/load.ts';
import { createSender } from '../load/sender.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const deployment = deployForSuite({ backend: 'redis' });

test('mirrors recordings and transcripts that are late, when they are announced', async ({ onTestFinished }) => {
  const { service } = deployment();
  const load = await startLoad(deployment(), createRandom('late'), onTestFinished);
  await service.faults({ kind: 'lateArtefacts', recordingMs: 2_000, transcriptMs: 3_000 });
  await load.goesOn(60);
  await service.faults();
  await load.finish();
  await expectNothingLost(deployment(), load);
});

test('looks again for recordings and transcripts that are late and never announced', async () => {
  const { service, hooks } = deployment();
  const durationSeconds = 120;
  // The first look comes a minute after the end of the call, which lies nearly as far back.
  const startedAt = Date.now() - (durationSeconds + 54) * 1_000;
  const { id: callId, transcriptIds } = await service.call({
    direction: 'inbound',
    status: 'answered',
    durationSeconds,
    startTime: new Date(startedAt).toISOString(),
    recorded: true,
    recordingAfterMs: 1_500,
    transcriptAfterMs: 2_500,
    announce: false,
  });
  const body = JSON.stringify({ callId, webhookType: 'AccountEndedCalls' });
  await createSender(hooks, createRandom('unannounced')).insist('AccountEndedCalls', body);
  const areWritten = async () => (await service.read(`/calls/${callId}/transcripts`)).length === transcriptIds.length;
  await vi.waitUntil(areWritten, { timeout: 10_000, interval: 100 });
  await expectNothingLost(deployment(), {
    threads: [],
    callIds: [callId],
    accepted: async () => [`AccountEndedCalls ${callId}`],
  });
});
