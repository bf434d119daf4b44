import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import type { Assignee } from '../rule.ts';
import type { Pending } from './pending.ts';

/** The user that an assignment means, null for nobody; or why there is none, and whether that is a mistake of the rule. */
export type FoundAssignee = { readonly user: number | null } | { readonly nobody: string; readonly isMistake: boolean };

/** Finds whom an action is to assign to, as the directory and the call's attribution have it now. */
export async function assigneeOf(
  db: Database | Transaction,
  to: Assignee,
  { line, trigger }: Pick<Pending, 'line' | 'trigger'>,
): Promise<FoundAssignee> {
  switch (to.kind) {
    case 'user':
      return { user: to.userId };
    case 'nobody':
      return { user: null };
    case 'named': {
      const user = await userNamed(db, to.name);
      return user === undefined ? { nobody: `no user is called ${to.name}`, isMistake: true } : { user };
    }
    case 'agent': {
      const user = (await agentOf(db, trigger)) ?? (await firstOfLine(db, line));
      return user === undefined
        ? { nobody: 'nobody of us is known to have been on the call, and the line is everybody’s', isMistake: false }
        : { user };
    }
    case 'line': {
      const user = await firstOfLine(db, line);
      return user === undefined ? { nobody: 'the line is everybody’s', isMistake: false } : { user };
    }
  }
}

async function firstOfLine(db: Database | Transaction, line: string): Promise<number | undefined> {
  const rows = await query<{ id: string }>(
    db,
    `select user_id as id from warehouse.sms_line_users where line = $1 and valid_to = 'infinity' order by user_id limit 1`,
    [line],
  );
  return rows.map(({ id }) => Number(id))[0];
}

async function userNamed(db: Database | Transaction, name: string): Promise<number | undefined> {
  const rows = await query<{ id: string }>(
    db,
    `select user_id as id from warehouse.users
     where deleted_at is null and (lower(username) = lower($1) or lower(email) = lower($1)) order by user_id limit 1`,
    [name],
  );
  return rows.map(({ id }) => Number(id))[0];
}

/** Whoever of us talked the longest on the call that a trigger is about. */
async function agentOf(db: Database | Transaction, { kind, key }: Pending['trigger']): Promise<number | undefined> {
  const isTranscript = kind === 'transcript_ready' || kind === 'action_required';
  const rows = await query<{ id: string }>(
    db,
    `select a.user_id as id
     from warehouse.call_attributions a
     join warehouse.users u on u.user_id = a.user_id and u.deleted_at is null
     where a.call_id = coalesce((select call_id from warehouse.transcripts where transcript_id = $1::bigint), $2)
       and a.role in ('answered', 'placed')
     order by a.talk_seconds desc nulls last, a.user_id limit 1`,
    isTranscript ? [key, null] : [null, key],
  );
  return rows.map(({ id }) => Number(id))[0];
}
