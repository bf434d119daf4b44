import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { atEnd } from '../at-end.ts';
import { caller } from '../sandbox/client/caller.ts';
import { migratedDatabase, type TestDatabase } from '../world/database.ts';

/** A database and a sandbox for the tests of one file; closed after them. */
export interface LedgerStores {
  readonly database: TestDatabase;
  readonly sandbox: Sandbox;
  /** Restores the initial state of both, for a `beforeEach`. */
  clear(): Promise<void>;
  /** Asks the sandbox with its own key; resolves to the `data` of its answer. */
  ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T>;
  /** Number of requests to send a text so far, whatever their outcome. */
  posts(): number;
  /** The account's budget of today, as in `1 sends, 0 reserved, 10000 spent`, in micro-dollars. */
  books(): Promise<unknown>;
}

export async function openLedgerStores(): Promise<LedgerStores> {
  const database = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  atEnd(sandbox.close);
  return {
    database,
    sandbox,
    async clear() {
      await sandbox.reset();
      await database.query(
        'truncate ops.rule_events, ops.sends, ops.send_events, ops.send_budgets, ops.opt_outs, ops.rule_versions, warehouse.sms_conversations, warehouse.sms_messages, warehouse.sms_lines',
      );
      await database.query(
        'update ops.send_control set is_paused = false, highest_unit_micros = 0, changed_at = now()',
      );
    },
    async ask<T>(method: string, path: string, body?: object) {
      const { status, body: answer } = await caller(sandbox, '')(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} was answered ${status}`);
      return answer?.data as T;
    },
    books: () =>
      database.value(
        `select format('%s sends, %s reserved, %s spent', sends_count, reserved_micros, spent_micros)
         from ops.send_budgets where scope = 'account'`,
      ),
    posts: () =>
      sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith('/sms/messages')).length,
  };
}
