import {
  type AccessToken,
  type AccountSettings,
  type ApiKey,
  type AuthorizationCode,
  type BlockedSender,
  type Charge,
  type ConversationState,
  type Draft,
  defaultSettings,
  type HostedFile,
  type Line,
  type OAuthClient,
  type OptOut,
  type RefreshToken,
  type Role,
  type Subscription,
  type Template,
  type User,
} from '../account.ts';
import { createCallTable } from './call-table.ts';
import { createMessageTable } from './message-table.ts';
import { type Change, createTable, type RecordChange, type Table } from './table.ts';

/** The state of the account, in memory: one table per entity. */
export type Store = ReturnType<typeof createStore>;

export function settingsOf({ settings }: Pick<Store, 'settings'>): AccountSettings {
  return settings.get('account') ?? defaultSettings;
}

/** The key of entities of a line and another party's number, both normalized. */
export function pairKey(pair: { line: string; number: string }): string {
  return `${pair.line}/${pair.number}`;
}

export function createStore(record: RecordChange) {
  const tables = {
    settings: createTable<'account', AccountSettings>('settings', () => 'account', record),
    keys: createTable<string, ApiKey>('key', ({ key }) => key, record),
    users: createTable<number, User>('user', ({ id }) => id, record),
    roles: createTable<number, Role>('role', ({ userId }) => userId, record),
    lines: createTable<string, Line>('line', ({ number }) => number, record),
    messages: createMessageTable(record),
    conversations: createTable<string, ConversationState>('conversation', pairKey, record),
    blocked: createTable<string, BlockedSender>('blocked', pairKey, record),
    optOuts: createTable<string, OptOut>('opt-out', pairKey, record),
    drafts: createTable<string, Draft>('draft', ({ draftId }) => draftId, record),
    templates: createTable<number, Template>('template', ({ id }) => id, record),
    files: createTable<string, HostedFile>('file', ({ file }) => file, record),
    charges: createTable<number, Charge>('charge', ({ id }) => id, record),
    calls: createCallTable(record),
    subscriptions: createTable<number, Subscription>('subscription', ({ id }) => id, record),
    clients: createTable<string, OAuthClient>('client', ({ clientId }) => clientId, record),
    codes: createTable<string, AuthorizationCode>('code', ({ code }) => code, record),
    accessTokens: createTable<string, AccessToken>('access-token', ({ token }) => token, record),
    refreshTokens: createTable<string, RefreshToken>('refresh-token', ({ token }) => token, record),
  };
  // Keys and entities from the journal are untyped JSON.
  const byKind = new Map(Object.values(tables).map((table) => [table.kind, table as unknown as Table<never, never>]));

  return {
    ...tables,
    /** Applies a change from the journal without recording it again. */
    apply(change: Change): void {
      const table = byKind.get(change.kind);
      if (table === undefined) throw new Error(`the journal holds an unknown kind of entity: ${change.kind}`);
      if ('put' in change) table.load(change.put as never);
      else table.unload(change.key as never);
    },
    clear(): void {
      for (const table of byKind.values()) table.clear();
    },
  };
}
