import type { Settings } from '../../config/settings.ts';
import { type Message, sendTo } from '../notify/channels.ts';
import { exactly, span } from '../shared/format.ts';

/** A name in NOTIFY_TARGETS. */
export type TargetName = string;

/** The content of a message about an alert. */
export interface AlertMessage {
  readonly kind: 'began' | 'escalated' | 'ended' | 'test';
  /** The alert's id: the same in all its messages and in every attempt to deliver them. */
  readonly alertId: string;
  readonly check: string;
  readonly level: 'problem' | 'warning' | 'notice';
  readonly sentence: string;
  readonly remedy: string;
  readonly since: Date;
  readonly endedAt: Date | null;
}

/** A destination for alerts. */
export interface Target {
  readonly name: TargetName;
  /** Resolves once the target has accepted the message. Rejects with a reason without addresses and secrets. */
  send(message: AlertMessage, signal?: AbortSignal): Promise<void>;
}

/** The targets that NOTIFY_ALERTS names. */
export function createTargets(settings: Pick<Settings, 'notify' | 'receiver' | 'api' | 'timeZone'>): Target[] {
  const { targets, alerts } = settings.notify;
  const origin = { deployment: deploymentOf(settings), timeZone: settings.timeZone };
  return alerts.flatMap((name) => {
    const target = targets.get(name);
    if (!target) return [];
    return [{ name, send: (alert, signal) => sendTo(target, messageOf(alert, origin), signal) } satisfies Target];
  });
}

/** The name of the deployment, for the reader of an alert. */
interface Origin {
  readonly deployment: string;
  readonly timeZone: string;
}

function deploymentOf({ receiver, api }: Pick<Settings, 'receiver' | 'api'>): string {
  const url = receiver.publicUrl ?? api.baseUrl;
  return url === undefined ? 'Trunkline' : url.replace(/^https?:\/\//, '');
}

function messageOf(alert: AlertMessage, origin: Origin): Message {
  const { kind, alertId, check, level, sentence, remedy, since, endedAt } = alert;
  const [headline = '', ...paragraphs] = linesOf(alert, origin);
  const data = { id: alertId, deployment: origin.deployment, check, level, sentence, remedy, since, endedAt };
  return {
    id: `${alertId}_${kind}`,
    headline,
    paragraphs,
    event: { type: `alert.${kind}`, data },
    ...((kind === 'escalated' || kind === 'ended') && { follows: `${alertId}_began` }),
  };
}

/** The message as text, most important line first. */
function linesOf(message: AlertMessage, { deployment, timeZone }: Origin): string[] {
  const { kind, level, check, sentence, remedy, since, endedAt } = message;
  if (kind === 'ended' && endedAt !== null) {
    const lasted = span((endedAt.getTime() - since.getTime()) / 1_000);
    return [
      `Resolved at ${deployment}: ${sentence}`,
      `It lasted ${lasted}, from ${exactly(since, timeZone)} to ${exactly(endedAt, timeZone)} (${check}).`,
    ];
  }
  const word = kind === 'test' ? 'Test' : level === 'problem' ? 'Problem' : 'Warning';
  return [
    `${word} at ${deployment}: ${sentence}`,
    `What to do: ${remedy}`,
    `${kind === 'escalated' ? 'It began as a warning. ' : ''}Since ${exactly(since, timeZone)} (${check}).`,
  ];
}
