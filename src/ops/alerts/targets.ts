import { createHmac } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import { isLoopback, type Settings } from '../../../config/settings.ts';
import { exactly, span } from '../format.ts';

export const targetNames = ['webhook', 'slack', 'email'] as const;
export type TargetName = (typeof targetNames)[number];

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

/** The configured targets. */
export function createTargets(settings: Pick<Settings, 'notify' | 'receiver' | 'api' | 'timeZone'>): Target[] {
  const { webhook, slackUrl, email } = settings.notify;
  const origin = { deployment: deploymentOf(settings), timeZone: settings.timeZone };
  return [
    ...(webhook ? [webhookTarget(webhook, origin)] : []),
    ...(slackUrl === undefined ? [] : [slackTarget(slackUrl, origin)]),
    ...(email ? [emailTarget(email, origin)] : []),
  ];
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

const timeoutMs = 10_000;

/** Standard Webhooks 1.0: the receiver verifies the signature, and recognizes a repeated message by its id. */
function webhookTarget({ url, secret }: { url: string; secret: string }, { deployment }: Origin): Target {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return {
    name: 'webhook',
    async send({ kind, alertId, check, level, sentence, remedy, since, endedAt }, signal) {
      const id = `msg_${alertId}_${kind}`;
      const now = new Date();
      const timestamp = String(Math.floor(now.getTime() / 1_000));
      const data = { id: alertId, deployment, check, level, sentence, remedy, since, endedAt };
      const body = JSON.stringify({ type: `alert.${kind}`, timestamp: now, data });
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
      await post(url, body, headers, signal);
    },
  };
}

function slackTarget(url: string, origin: Origin): Target {
  const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  return {
    name: 'slack',
    async send(message, signal) {
      const [headline = '', ...others] = linesOf(message, origin).map(escaped);
      const status = await post(url, JSON.stringify({ text: [`*${headline}*`, ...others].join('\n') }), {}, signal);
      if (status === 202) throw new Error(droppedByTeams);
    },
  };
}

/**
 * Slack, Mattermost and the like answer 200 once a message is shown. Teams workflows answer 202 and drop this format.
 */
const droppedByTeams =
  'it answered 202 and may drop the message, as Microsoft Teams does: use the e-mail address of the channel (NOTIFY_EMAIL_TO)';

/** Resolves to the status, if it is below 300. */
async function post(url: string, body: string, headers: Record<string, string>, signal?: AbortSignal): Promise<number> {
  const expiry = AbortSignal.timeout(timeoutMs);
  const options = {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'user-agent': 'trunkline', ...headers },
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, expiry]) : expiry,
  } as const;
  const answer = await fetch(url, options).catch((error: Error) => {
    // The error message may contain the address, which is a secret.
    const { code = 'no answer' } = (error.cause ?? {}) as { code?: string };
    throw new Error(expiry.aborted ? `no answer within ${timeoutMs / 1_000} s` : `it cannot be reached (${code})`);
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  return answer.status;
}

/** Reasons by Nodemailer's error codes, because its messages quote addresses. */
const mailFaults: Readonly<Record<string, string>> = {
  EAUTH: 'the mail server refused the user or the password',
  EENVELOPE: 'the mail server refused the sender or a recipient',
  EMESSAGE: 'the mail server refused the message',
  ETLS: 'the mail server offers no encryption',
  ETIMEDOUT: 'the mail server does not answer',
};

function emailTarget(
  { smtpUrl, to, from }: { smtpUrl: string; to: readonly string[]; from: string },
  origin: Origin,
): Target {
  async function deliver(mail: SendMailOptions): Promise<void> {
    // Loaded on demand: most processes send no e-mail.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      url: smtpUrl,
      // Without encryption, others could read the password.
      requireTLS: !isLoopback(new URL(smtpUrl).hostname),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
    });
    await transport.sendMail(mail).catch(explainMail);
  }
  return {
    name: 'email',
    async send(message, signal) {
      const lines = linesOf(message, origin);
      const mail = {
        from,
        to: [...to],
        subject: lines[0] ?? '',
        text: `${lines.join('\n\n')}\n`,
        messageId: `<${message.alertId}.${message.kind}@trunkline>`,
        ...((message.kind === 'escalated' || message.kind === 'ended') && {
          inReplyTo: `<${message.alertId}.began@trunkline>`,
        }),
        headers: { 'auto-submitted': 'auto-generated' },
      };
      const stopped = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('the process stops')), { once: true });
      });
      await Promise.race([deliver(mail), stopped]);
    },
  };
}

function explainMail({ code = 'no answer', responseCode }: { code?: string; responseCode?: number }): never {
  const reason = mailFaults[code] ?? `the mail server cannot be reached (${code})`;
  throw new Error(responseCode === undefined ? reason : `${reason} (${responseCode})`);
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
