import { onTestFinished } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import { createInbox, type ReferencedTarget } from '../../src/inbox/deliveries.ts';
import { type DueTarget, markDirty, type TargetKind } from '../../src/inbox/targets.ts';
import type { EventType } from '../../src/shared/event-types.ts';
import { createSync, type ReadOutcome } from '../../src/sync/sync.ts';
import { migratedDatabase, type TestDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { type Reply, startOddService } from '../world/service.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { messages, type ShownMessage, type ThreadHabits, threadService } from './thread-service.ts';

export const line = '15550000001';

/** Readers at a database of their own for the test file that calls this at its top level. */
export async function openReaders() {
  const database = await migratedDatabase();
  return { ...database, ...readersOf(database) };
}

/** Reads targets one by one from services that answer as the tests say: no queue, no waiting. */
export function readersOf(database: Pick<TestDatabase, 'db' | 'pool' | 'query' | 'value'>) {
  const { db, query, value } = database;
  const inbox = createInbox(database, () => undefined);
  const rest = { claimedType: undefined, contentType: undefined, userAgent: undefined, body: '{}' };
  let parties = 2;

  async function openReader() {
    const service = await startOddService();
    const { log, text: logged } = captureLog();
    const limits = { retry: { tries: 1 }, circuit: { failures: 1_000 } };
    const client = createService({ baseUrl: service.url, apiKey: 'key-of-the-reader', log, ...limits });
    onTestFinished(async () => {
      await client.close();
      await service[Symbol.asyncDispose]();
    });
    const due: DueTarget[] = [];
    let ahead = 0;
    const sync = createSync({
      ...{ db, service: client, log },
      now: () => new Date(Date.now() + ahead * 1_000),
      notify: (enqueued) => void due.push(...enqueued),
    });
    const never = new AbortController().signal;

    /** Reads the target if it is pending, and due once the pause between two reads has passed. */
    async function readIfPending(kind: TargetKind, key: string): Promise<ReadOutcome> {
      const paused = `due_at > now() and due_at <= now() + interval '200 ms'`;
      await query(`update ops.sync_targets set due_at = now() where kind = $1 and key = $2 and ${paused}`, kind, key);
      return (await sync.read({ kind, key }, never)).outcome;
    }
    /** Passes the time until the target is due, and reads it if it is pending. */
    async function look(kind: TargetKind, key: string): Promise<ReadOutcome> {
      await query('update ops.sync_targets set due_at = now() where kind = $1 and key = $2', kind, key);
      return readIfPending(kind, key);
    }
    /** Makes the target due now, and reads it. */
    async function read(kind: TargetKind, key: string): Promise<ReadOutcome> {
      await markDirty(db, [{ kind, key }]);
      return look(kind, key);
    }
    return {
      service,
      due,
      logged,
      read,
      look,
      readIfPending,
      /** Sets the clock of the reader so many seconds ahead. */
      skipTo: (seconds: number) => {
        ahead = seconds;
      },
      /** Reads the target until it is not pending, at most so many times. */
      async readAll(kind: TargetKind, key: string, most = 20): Promise<ReadOutcome[]> {
        const ends = [await read(kind, key)];
        while (ends.length < most) {
          const ended = await look(kind, key);
          if (ended === 'not_pending') break;
          ends.push(ended);
        }
        return ends;
      },
    };
  }

  /** Seconds until the next read; undefined while none is pending. */
  const dueIn = (kind: TargetKind, key: string) =>
    value(
      `select extract(epoch from due_at - now())::float8 from ops.sync_targets
       where kind = $1 and key = $2 and dirty_version > clean_version`,
      kind,
      key,
    ) as Promise<number | undefined>;

  return {
    openReader,
    dueIn,
    /** Names targets as a delivery does that was accepted. */
    async tell(eventType: EventType, ...targets: ReferencedTarget[]): Promise<void> {
      await inbox.accept({ ...rest, eventType, targets });
    },
    /** A thread that nobody else reads, and a service that shows it alone. */
    async withThread(start: readonly ShownMessage[], habits: ThreadHabits = {}) {
      parties += 1;
      const number = `1555${String(parties).padStart(7, '0')}`;
      const key = `${line}/${number}`;
      const { service, look, read, readAll } = await openReader();
      const thread = { messages: [...start] };
      const behave = (as: ThreadHabits) => {
        service.answer = threadService(() => thread.messages, as);
      };
      behave(habits);
      return {
        ...{ service, key, number, thread, behave },
        look: () => look('thread', key),
        read: () => read('thread', key),
        readAll: (most?: number) => readAll('thread', key, most),
        dueIn: () => dueIn('thread', key),
        /** Another thread is read of long pages, so that a page that is not the last is known from one that is. */
        async learnLongPages(): Promise<void> {
          const { answer } = service;
          service.answer = threadService(() => messages(250));
          await read('thread', `${line}/15559999999`);
          service.answer = answer;
        },
        /** Reads it once; resolves to the number of requests. */
        async cost(): Promise<number> {
          const before = service.asked.length;
          await read('thread', key);
          return service.asked.length - before;
        },
        /** The ids of the messages that are held of it. */
        held: async (where = 'deleted_at is null') =>
          (
            await query<{ id: number }>(
              `select message_id::integer as id from warehouse.sms_messages where number = $1 and ${where} order by 1`,
              number,
            )
          ).map(({ id }) => id),
        conversation: (columns: string) =>
          value(`select concat_ws(' ', ${columns}) from warehouse.sms_conversations where number = $1`, number),
      };
    },
    /** A call that nobody else reads, and a service that shows it alone. */
    async withCall(shown: (id: string) => ShownCall, options: { readonly secondsAgo?: number } = {}) {
      const id = callId(options.secondsAgo);
      const calls = new Map([[id, shown(id)]]);
      const reader = await openReader();
      const usual = callService(calls);
      reader.service.answer = usual;
      const read = (kind: TargetKind = 'call') => reader.read(kind, id);
      const readIfPending = (kind: TargetKind) => reader.readIfPending(kind, id);
      return {
        ...{ id, service: reader.service, due: reader.due, logged: reader.logged, skipTo: reader.skipTo },
        ...{ read, readIfPending },
        look: (kind: TargetKind = 'call') => reader.look(kind, id),
        readAll: (kind: TargetKind = 'call') => reader.readAll(kind, id),
        dueIn: (kind: TargetKind = 'call') => dueIn(kind, id),
        shows: (change: ShownCall) => void calls.set(id, { ...calls.get(id), ...change }),
        vanishes: () => void calls.delete(id),
        /** The next answers are these, then it is as usual. */
        answersFirst(...replies: Reply[]) {
          reader.service.answer = (asked) => replies.shift() ?? usual(asked);
        },
        /** Reads the call and all that follows from it, but for later rechecks. */
        async readOnce() {
          await read();
          await readIfPending('recordings');
          await readIfPending('transcripts');
        },
        /** The state and number of its recordings, and those of its transcripts; a state that is not known is left out. */
        states: () =>
          value(
            `select concat_ws(' ', recordings_state, coalesce(recording_count::text, '-'), transcripts_state, coalesce(transcript_count::text, '-'))
             from warehouse.calls where call_id = $1`,
            id,
          ),
        /** Its target of a kind: state, failed reads and whether it is pending. */
        target: (kind: TargetKind = 'call') =>
          value(
            `select concat_ws(' ', state, attempts, case when dirty_version > clean_version then 'pending' end)
             from ops.sync_targets where kind = $1 and key = $2`,
            kind,
            id,
          ),
        held: (column: string) => value(`select ${column} from warehouse.calls where call_id = $1`, id),
      };
    },
  };
}

/** A call with its recording and transcript. */
export const whole = (id: string): Required<ShownCall> => ({
  call: { data: shownCall(id) },
  recordings: { data: [shownRecording(id)] },
  transcripts: { data: [shownTranscript(Number(id.split('.')[1]), id)] },
});
