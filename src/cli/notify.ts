import { randomUUID } from 'node:crypto';
import { query, sql } from '../db/database.ts';
import { createTargets } from '../ops/alerts/targets.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { commandSettings, openDatabase } from './environment.ts';
import { type Column, type Output, tableOf } from './output.ts';

/** Sends a test alert. Exit code 0 if every target accepted it. */
export async function sendTest(): Promise<Output> {
  const targets = createTargets(await commandSettings());
  if (targets.length === 0) {
    const remedy = `Set NOTIFY_WEBHOOK_URL, NOTIFY_SLACK_URL or NOTIFY_SMTP_URL, as ${toType('settings')} describes.`;
    throw new UserError('No target of alerts is configured.', { remedy });
  }
  const message = {
    kind: 'test' as const,
    alertId: randomUUID(),
    check: 'test',
    level: 'notice' as const,
    sentence: 'this is a test, and alerts arrive here.',
    remedy: 'Nothing.',
    since: new Date(),
    endedAt: null,
  };
  const results = await Promise.all(
    targets.map(({ name, send }) =>
      send(message).then(
        () => ({ target: name, isSent: true }),
        (error: Error) => ({ target: name, isSent: false, reason: error.message }),
      ),
    ),
  );
  const lines = results.map(({ target, isSent, ...failure }) =>
    isSent ? `${target}: accepted` : `${target}: not sent: ${'reason' in failure ? failure.reason : ''}`,
  );
  return { json: results, text: lines.join('\n'), failed: results.some(({ isSent }) => !isSent) };
}

interface ListedAlert {
  readonly check: string;
  readonly level: string;
  readonly since: Date;
  readonly endedAt: Date | null;
  readonly sentence: string;
  /** The targets that accepted the message about its begin. */
  readonly toldTo: readonly string[];
}

export async function listAlerts({ limit }: { limit: number }): Promise<Output> {
  await using database = await openDatabase('notify');
  const alerts = await query(
    database.db,
    sql<ListedAlert>`select check_name as check, level, known_at as since, ended_at as "endedAt", sentence,
       array(select target from ops.alert_messages m
         where m.alert_id = a.alert_id and kind = 'began' and sent_at is not null order by target) as "toldTo"
     from ops.alerts a where begun_at is not null order by ended_at is not null, begun_at desc limit ${limit}`,
  );
  const columns: Column<ListedAlert>[] = [
    ['since', ({ since }) => since],
    ['until', ({ endedAt }) => endedAt ?? 'open'],
    ['level', ({ level }) => level],
    ['check', ({ check }) => check],
    ['sent to', ({ toldTo }) => toldTo.join(', ')],
    ['what', ({ sentence }) => sentence],
  ];
  const { timeZone } = database.settings;
  return tableOf(alerts, columns, { timeZone, empty: 'No alert began in the last 30 days.' });
}
