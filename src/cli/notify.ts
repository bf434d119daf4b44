import { randomUUID } from 'node:crypto';
import { messageOf } from '../alerts/messages.ts';
import { type Message, sendTo } from '../notify/channels.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { commandSettings } from './environment.ts';
import type { Output } from './output.ts';

/** Sends a test message to each target, as an alert if it gets alerts. Exit code 0 if every target accepted it. */
export async function sendTest(): Promise<Output> {
  const settings = await commandSettings();
  const { targets, alerts } = settings.notify;
  if (targets.size === 0) {
    const remedy = `Set NOTIFY_TARGETS, as ${toType('settings')} describes.`;
    throw new UserError('No target of alerts or rules is configured.', { remedy });
  }
  const id = randomUUID();
  const sentence = 'this is a test, and alerts arrive here.';
  const alert = { alertId: id, kind: 'test', check: 'test', level: 'notice', sentence, remedy: 'Nothing.' } as const;
  const ofAlerts = messageOf({ ...alert, since: new Date(), endedAt: null, told: null }, settings);
  const paragraphs = ['This is a test: what rules tell this target arrives here.'];
  const ofRules: Message = { id, paragraphs, event: { type: 'rule.test', data: {} } };
  const sending = [...targets].map(async ([target, at]) => {
    const sent = sendTo(at, alerts.includes(target) ? ofAlerts : ofRules);
    const failure = await sent.then(
      () => undefined,
      ({ message: reason }: Error) => ({ reason }),
    );
    return { target, isSent: failure === undefined, ...failure };
  });
  const results: { target: string; isSent: boolean; reason?: string }[] = await Promise.all(sending);
  const lines = results.map(
    ({ target, isSent, reason }) => `${target}: ${isSent ? 'accepted' : `not sent: ${reason}`}`,
  );
  return { json: results, text: lines.join('\n'), failed: results.some(({ isSent }) => !isSent) };
}
