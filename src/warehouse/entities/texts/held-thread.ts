import { type Database, hotQuery } from '../../database.ts';
import type { Thread } from './conversations.ts';

/** What the mirror holds of a thread decides how far back it is read. */
export interface HeldThread {
  /** Whether anything of it is held. */
  isHeld(): Promise<boolean>;
  /** Whether any message of it is held that was not deleted. */
  holdsAny(): Promise<boolean>;
  /** Seconds since it was marked deleted, and none while it is not; undefined when it is not held. */
  secondsGone(): Promise<number | undefined>;
  /** Seconds since it was last held whole, else since it was first seen; undefined when it is not held. */
  secondsIncomplete(): Promise<number | undefined>;
  /** How many messages it holds of a thread that it holds whole, and the newest of them; undefined of any other. */
  heldWhole(): Promise<{ readonly count: number; readonly newest: string } | undefined>;
  /** When those of these messages were first seen that it holds. */
  firstSeen(ids: readonly (number | string)[]): Promise<ReadonlyMap<string, Date>>;
  /** Whether it holds the whole thread, these messages among it. */
  holdsAll(ids: readonly (number | string)[]): Promise<boolean>;
  /** Whether it holds the whole thread, and nothing, but deleted messages, besides these. */
  holdsOnly(ids: readonly (number | string)[]): Promise<boolean>;
  /**
   * Whether it holds another message that, of a list in order, would stand among these or be newer. A list can be in the
   * order of moments or of ids: a text that was scheduled has a late moment, and an early id.
   */
  holdsAnotherAmong(ids: readonly (number | string)[]): Promise<boolean>;
}

export function heldThread(db: Database, { line, number, participants }: Thread): HeldThread {
  const ask = async <T>(what: string, ids: readonly (number | string)[] = []): Promise<T | undefined> => {
    const [row] = await hotQuery<{ answer: T }>(
      db,
      `select ${what} as answer from warehouse.sms_conversations c
       where line = $1 and number = $2 and participants_key = $3 and $4::bigint[] is not null`,
      [line, number, participants.join(','), ids],
    );
    return row?.answer;
  };
  const isSo = async (what: string, ids?: readonly (number | string)[]) => (await ask<boolean>(what, ids)) === true;
  const isWhole = 'is_thread_complete and not is_reread_owed';
  const messages = 'from warehouse.sms_messages m where m.conversation_id = c.conversation_id and deleted_at is null';
  return {
    isHeld: () => isSo('true'),
    holdsAny: () => isSo(`exists (select ${messages})`),
    secondsGone: () => ask('extract(epoch from now() - coalesce(deleted_at, now()))::float8'),
    secondsIncomplete: () => ask('extract(epoch from now() - coalesce(complete_read_at, first_seen_at))::float8'),
    async heldWhole() {
      const whole = await ask<{ count: number; newest: string | null }>(
        `case when ${isWhole} then jsonb_build_object('count', (select count(*) ${messages}),
           'newest', (select message_id::text ${messages} order by sent_at desc nulls last, message_id desc limit 1)) end`,
      );
      return whole?.newest == null ? undefined : { count: whole.count, newest: whole.newest };
    },
    async firstSeen(ids) {
      const seen = await ask<Readonly<Record<string, string>> | null>(
        `(select jsonb_object_agg(message_id, first_seen_at) from warehouse.sms_messages m
          where m.conversation_id = c.conversation_id and message_id = any($4::bigint[]))`,
        ids,
      );
      return new Map(Object.entries(seen ?? {}).map(([id, at]) => [id, new Date(at)]));
    },
    holdsAll: (ids) =>
      isSo(
        `${isWhole} and (select count(*) ${messages} and message_id = any($4::bigint[])) = cardinality($4::bigint[])`,
        ids,
      ),
    holdsOnly: (ids) => isSo(`${isWhole} and not exists (select ${messages} and message_id <> all($4::bigint[]))`, ids),
    holdsAnotherAmong: (ids) =>
      isSo(
        `exists (select ${messages} and message_id <> all($4::bigint[])
           and message_id > (select min(message_id) ${messages} and message_id = any($4::bigint[]))
           and sent_at > (select min(sent_at) ${messages} and message_id = any($4::bigint[])))`,
        ids,
      ),
  };
}
