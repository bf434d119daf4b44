import { randomUUID } from 'node:crypto';
import { query, sql } from '../db/database.ts';
import { createChannel, type Message } from '../notify/channels.ts';
import { createTargets } from '../ops/alerts/targets.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { commandSettings, openDatabase } from './environment.ts';
import { type Column, type Output, tableOf } from './output.ts';

/** Sends a test message to each target of alerts and of rules. Exit code 0 if every target accepted it. */
export async function sendTest(): Promise<Output> {
  const settings = await commandSettings();
  const alert = {
    kind: 'test' as const,
    alertId: randomUUID(),
    check: 'test',
    level: 'notice' as const,
    sentence: 'this is a test, and alerts arrive here.',
    remedy: 'Nothing.',
    since: new Date(),
    endedAt: null,
  };
  const test: Message = {
    id: alert.alertId,
    paragraphs: ['This is a test: what rules tell this target arrives here.'],
    event: { type: 'rule.test', data: {} },
  };
  const targets = [
    ...createTargets(settings).map(({ name, send }) => ({ name: name as string, send: () => send(alert) })),
    ...[...settings.notify.targets].map(([name, target]) => ({ name, send: () => createChannel(target).send(test) })),
  ];
  if (targets.length === 0) {
    const remedy = `Set NOTIFY_WEBHOOK_URL, NOTIFY_SLACK_URL, NOTIFY_SMTP_URL or NOTIFY_TARGETS, as ${toType('settings')} describes.`;
    throw new UserError('No target of alerts or rules is configured.', { remedy });
  }
  const results = await Promise.all(
    targets.map(({ name, send }) =>
      send().then(
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
