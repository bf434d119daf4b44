import { randomUUID } from 'node:crypto';
import { createTargets } from '../alerts/targets.ts';
import { type Message, sendTo } from '../notify/channels.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { commandSettings } from './environment.ts';
import type { Output } from './output.ts';

/** Sends a test message to each target: that of alerts to those which get them, else that of rules. Exit code 0 if every target accepted it. */
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
  const ofAlerts = new Map(createTargets(settings).map((each) => [each.name, each]));
  const targets = [...settings.notify.targets].map(([name, target]) => ({
    name,
    send: () => ofAlerts.get(name)?.send(alert) ?? sendTo(target, test),
  }));
  if (targets.length === 0) {
    const remedy = `Set NOTIFY_TARGETS, as ${toType('settings')} describes.`;
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
