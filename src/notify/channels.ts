import { createHmac } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import { type DeclaredTarget, isLoopback } from '../../config/settings.ts';

/** What alerts and rules tell people and systems. */
export interface Message {
  /** The same in every attempt: a receiver recognizes a repeated message by it. */
  readonly id: string;
  /** The first line, and the subject of an e-mail. Default: the first line of the text. */
  readonly headline?: string;
  readonly paragraphs: readonly string[];
  /** What a webhook gets instead of words. */
  readonly event: { readonly type: string; readonly data: object };
  /** Id of the message that this one follows. */
  readonly follows?: string;
}

/** Where messages go. */
export interface Channel {
  /** Resolves once the receiver has accepted the message. Rejects with a reason without addresses and secrets. */
  send(message: Message, signal?: AbortSignal): Promise<void>;
}

export function createChannel(target: DeclaredTarget): Channel {
  switch (target.kind) {
    case 'webhook':
      return webhookChannel(target);
    case 'slack':
      return slackChannel(target);
    case 'email':
      return emailChannel(target);
  }
}

const timeoutMs = 10_000;

/** Standard Webhooks 1.0: the receiver verifies the signature, and recognizes a repeated message by its id. */
function webhookChannel({ url, secret }: { url: string; secret: string }): Channel {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return {
    async send({ id: own, event: { type, data } }, signal) {
      const id = `msg_${own}`;
      const now = new Date();
      const timestamp = String(Math.floor(now.getTime() / 1_000));
      const body = JSON.stringify({ type, timestamp: now, data });
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
      await post(url, body, headers, signal);
    },
  };
}

function slackChannel({ url }: { url: string }): Channel {
  return {
    async send({ headline, paragraphs }, signal) {
      const lines = [...(headline === undefined ? [] : [`*${escaped(headline)}*`]), ...paragraphs.map(escaped)];
      const status = await post(url, JSON.stringify({ text: lines.join('\n') }), {}, signal);
      if (status === 202) throw new Error(droppedByTeams);
    },
  };
}

/** No mention of a group in the words of others calls people: Slack reads `<!channel>`, Mattermost and Discord plain words. */
function escaped(text: string): string {
  const { '&': and, '<': less, '>': more } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text
    .replaceAll('&', and)
    .replaceAll('<', less)
    .replaceAll('>', more)
    .replace(/@(?=channel|here|all|everyone)/gi, '@\u200b');
}

/**
 * Slack, Mattermost and the like answer 200 once a message is shown. Teams workflows answer 202 and drop this format.
 */
const droppedByTeams =
  'it answered 202 and may drop the message, as Microsoft Teams does: use the e-mail address of the channel';

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

/** Characters of a subject. */
const maxSubject = 100;

function emailChannel({ smtpUrl, to, from }: { smtpUrl: string; to: readonly string[]; from: string }): Channel {
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
    async send({ id, headline, paragraphs, follows }, signal) {
      const lines = [...(headline === undefined ? [] : [headline]), ...paragraphs];
      const [first = ''] = (lines[0] ?? '').split(/[\r\n]/, 1);
      const mail = {
        from,
        to: [...to],
        subject: headline ?? (first.length > maxSubject ? `${first.slice(0, maxSubject)}…` : first),
        text: `${lines.join('\n\n')}\n`,
        messageId: `<${id}@trunkline>`,
        ...(follows !== undefined && { inReplyTo: `<${follows}@trunkline>` }),
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
