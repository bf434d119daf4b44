import type { Settings } from '../../config/settings.ts';
import type { Level } from '../checks/check.ts';
import { type Message, sendTo } from '../notify/channels.ts';
import { duration, exactly } from '../shared/format.ts';
import type { Log } from '../shared/log.ts';

/** An alert, and what to send to a target about it now. */
export interface Alert {
  /** The same in all messages of the alert and in every attempt to send them. */
  readonly alertId: string;
  readonly kind: 'began' | 'escalated' | 'ended' | 'test';
  readonly check: string;
  readonly level: Level;
  readonly sentence: string;
  readonly remedy: string;
  readonly since: Date;
  readonly endedAt: Date | null;
  /** The level that the target was last told. Null if it was told nothing. */
  readonly told: string | null;
}

/** What to record as told once the target has accepted the alert: its level, or that it ended. */
export const tellingOf = ({ kind, level }: Alert): string => (kind === 'ended' ? kind : level);

type Origin = Pick<Settings, 'notify' | 'receiver' | 'api' | 'timeZone'>;

export function messageOf(alert: Alert, { receiver, api, timeZone }: Origin): Message {
  const { alertId: id, kind, told, ...rest } = alert;
  const { check, level, sentence, remedy, since, endedAt } = rest;
  const deployment = (receiver.publicUrl ?? api.baseUrl ?? 'Trunkline').replace(/^https?:\/\//, '');
  const word = kind === 'test' ? 'Test' : kind === 'ended' ? 'Resolved' : level === 'problem' ? 'Problem' : 'Warning';
  const from = exactly(since, timeZone);
  const [lasted, to] = endedAt ? [duration((Number(endedAt) - Number(since)) / 1_000), exactly(endedAt, timeZone)] : [];
  return {
    id: `${id}_${tellingOf(alert)}`,
    headline: `${word} at ${deployment}: ${sentence}`,
    paragraphs:
      kind === 'ended'
        ? [`It lasted ${lasted}, from ${from} to ${to} (${check}).`]
        : [
            `What to do: ${remedy}`,
            `${kind === 'escalated' ? 'It began as a warning. ' : ''}Since ${from} (${check}).`,
          ],
    event: { type: `alert.${kind}`, data: { id, deployment, check, level, sentence, remedy, since, endedAt } },
    ...(told !== null && { follows: `${id}_${told}` }),
  };
}

interface Attempt {
  readonly settings: Origin;
  readonly log: Log;
  readonly tries: number;
  readonly signal?: AbortSignal;
}

/** Sends a message to a target. Logs success, and the first of several failures. Returns the failure, if any. */
export async function deliver(name: string, alert: Alert, attempt: Attempt): Promise<string | undefined> {
  const { settings, log, tries, signal } = attempt;
  const target = settings.notify.targets.get(name);
  if (!target) return 'it isn’t set here';
  const about = { target: name, check: alert.check, kind: alert.kind };
  try {
    await sendTo(target, messageOf(alert, settings), signal);
    log.info(about, 'An alert was sent');
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (tries === 1) log.warn({ ...about, reason }, 'An alert couldn’t be sent; it is tried again');
    return reason;
  }
}
