import type { ApiKey, Line, Subscription, User } from '../account.ts';
import { type CallTable, createCallTable } from './calls.ts';
import { createMessageTable, type MessageTable } from './messages.ts';
import { type Change, createTable, type RecordChange, type Table } from './table.ts';

/** The state of the account, in memory. One table per entity; a new entity is a new table here. */
export interface Store {
  keys: Table<string, ApiKey>;
  users: Table<number, User>;
  lines: Table<string, Line>;
  messages: MessageTable;
  calls: CallTable;
  subscriptions: Table<number, Subscription>;
  /** Applies a change from the journal without recording it again. */
  apply(change: Change): void;
  clear(): void;
}

export function createStore(record: RecordChange): Store {
  const tables = {
    keys: createTable<string, ApiKey>('key', (key) => key.key, record),
    users: createTable<number, User>('user', (user) => user.id, record),
    lines: createTable<string, Line>('line', (line) => line.number, record),
    messages: createMessageTable(record),
    calls: createCallTable(record),
    subscriptions: createTable<number, Subscription>('subscription', (subscription) => subscription.id, record),
  };
  // The journal knows keys and entities only as JSON, so this map gives up their types.
  const byKind = new Map(Object.values(tables).map((table) => [table.kind, table as unknown as Table<never, never>]));

  return {
    ...tables,
    apply(change) {
      const table = byKind.get(change.kind);
      if (table === undefined) throw new Error(`the journal holds an unknown kind of entity: ${change.kind}`);
      if ('put' in change) table.load(change.put as never);
      else table.unload(change.key as never);
    },
    clear() {
      for (const table of byKind.values()) table.clear();
    },
  };
}
