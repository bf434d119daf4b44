import type { TestDatabase } from '../world/database.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { type DeskOptions, openDesk } from './desk.ts';

/** Reads single calls of a service that shows them as the test wants. */
export function callDesk(database: TestDatabase) {
  async function withCall(shown: (id: string) => ShownCall, options: DeskOptions & { secondsAgo?: number } = {}) {
    const id = callId(options.secondsAgo);
    const calls = new Map([[id, shown(id)]]);
    const desk = await openDesk(database, options);
    desk.service.answer = callService(calls);
    const shows = (change: ShownCall) => void calls.set(id, { ...calls.get(id), ...change });
    const vanishes = () => void calls.delete(id);
    /** Reads the call and all that follows from it, until nothing is owed or only later looks are. */
    const readOnce = async () => {
      await desk.read('call', id);
      await desk.turn('recordings', id);
      await desk.turn('transcripts', id);
    };
    return { id, desk, shows, vanishes, readOnce };
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
