import type { TestDatabase } from '../world/database.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { type HarnessOptions, openReaderHarness } from './reader-harness.ts';

/** Reads single calls of a service that shows them as the test wants. */
export function callHarness(database: TestDatabase) {
  async function withCall(shown: (id: string) => ShownCall, options: HarnessOptions & { secondsAgo?: number } = {}) {
    const id = callId(options.secondsAgo);
    const calls = new Map([[id, shown(id)]]);
    const harness = await openReaderHarness(database, options);
    harness.service.answer = callService(calls);
    const shows = (change: ShownCall) => void calls.set(id, { ...calls.get(id), ...change });
    const vanishes = () => void calls.delete(id);
    /** Reads the call and all that follows from it, until nothing is pending but later rechecks. */
    const readOnce = async () => {
      await harness.read('call', id);
      await harness.readIfPending('recordings', id);
      await harness.readIfPending('transcripts', id);
    };
    return { id, harness, shows, vanishes, readOnce };
  }

  async function states(id: string) {
    const [row] = await database.query(
      `select recordings_state as recordings, recording_count, transcripts_state as transcripts, transcript_count
       from warehouse.calls where call_id = $1`,
      id,
    );
    return row;
  }
  return { withCall, states };
}

/** A call with its recording and transcript. */
export const whole = (id: string): ShownCall => ({
  call: { data: shownCall(id) },
  recordings: { data: [shownRecording(id)] },
  transcripts: { data: [shownTranscript(Number(id.split('.')[1]), id)] },
});
