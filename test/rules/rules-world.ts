import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { applyRules } from '../../src/rules/versions.ts';
import { atEnd, temporaryFolder } from '../at-end.ts';
import type { Backend } from '../stores/backends.ts';
import { createWorld, until, type World, type WorldOptions } from '../world.ts';

/** A world with a rules file of its own. */
export interface RulesWorld extends World {
  /** Applies other rules, always as a new version. */
  rules(text: string): Promise<void>;
  readonly rulesFile: string;
  /** Makes the rules in force and all mirrored threads a month old: rules act on nothing from before either. */
  age(): Promise<void>;
  /** Resolves when all events are evaluated and all due actions performed. */
  rulesSettled(): Promise<void>;
  runs(rule?: string): Promise<Run[]>;
  actions(rule: string): Promise<ActionRow[]>;
}

export interface Run {
  readonly rule: string;
  readonly trigger_kind: string;
  readonly trigger_key: string;
  readonly is_matched: boolean;
  readonly reason: string;
  readonly mode: string;
  readonly facts: Record<string, unknown>;
}

export interface ActionRow {
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
}

/** With workers, the rules have been in force for a month. It ends with the test or the file that asks for it. */
export async function createRulesWorld(
  text: string,
  mode: 'off' | 'dry-run' | 'live',
  backend: Backend,
  options: Partial<WorldOptions> = {},
): Promise<RulesWorld> {
  const rulesFile = join(await temporaryFolder(), 'rules.yaml');
  await writeFile(rulesFile, text);
  const world = await createWorld({
    backend,
    ...options,
    sandbox: { deliveryRetriesMs: [50], ...options.sandbox },
    environment: { RULES_MODE: mode, RULES_FILE: rulesFile, TIME_ZONE: 'UTC', ...options.environment },
  });
  atEnd(world.close);
  const { query, value } = world;
  let changes = 0;
  async function age(): Promise<void> {
    await query(
      `update ops.rule_versions set since = (select jsonb_object_agg(key, now() - interval '30 days') from jsonb_each(since)) where since <> '{}'`,
    );
    await query(`update warehouse.sms_conversations set first_seen_at = now() - interval '30 days'`);
  }
  await age();

  async function isActed(): Promise<boolean> {
    const left = await value(
      `select (select count(*) from ops.rule_events where due_at < now() + interval '1 second')
         + (select count(*) from ops.rule_actions where state = 'waiting' and due_at < now() + interval '3 seconds')`,
    );
    return Number(left) === 0;
  }

  return {
    ...world,
    get sandbox() {
      return world.sandbox;
    },
    rulesFile,
    async rules(changed) {
      changes += 1;
      await applyRules(world.context.database.db, `${changed}\n# ${changes}\n`, { file: 'a test', by: 'a test' });
    },
    age,
    async rulesSettled() {
      await world.settled();
      await until(isActed, async () =>
        JSON.stringify([
          await query('select kind, key from ops.rule_events'),
          await query(`select kind, state, reason, tries, due_at from ops.rule_actions where state = 'waiting'`),
          await query('select state, reason, trigger_kind, due_at, expires_at from ops.sends'),
        ]),
      );
    },
    runs: (rule) =>
      query<Run>(
        `select rule, trigger_kind, trigger_key, is_matched, reason, mode, facts from ops.rule_runs
         where $1::text is null or rule = $1 order by run_id`,
        rule ?? null,
      ),
    actions: (rule) =>
      query<ActionRow>(
        `select a.kind, a.state, a.reason from ops.rule_actions a join ops.rule_runs r using (run_id)
         where r.rule = $1 order by a.run_id, a.ordinal`,
        rule,
      ),
  };
}
