import { createHmac } from 'node:crypto';
import type { DeclaredTarget } from '../../config/settings.ts';
import { isLoopbackUrl, openAgent, proxyOf } from '../shared/proxy.ts';
import { faultOf } from './faults.ts';

/** A message of alerts or rules, for people and systems. */
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

const timeoutMs = 10_000;
/** For an e-mail as a whole: each of its steps may take `timeoutMs`, and a server may add lines to its answer. */
const mailMs = 60_000;

/** Resolves once the target has accepted the message. Rejects with a reason without addresses and secrets. */
export async function sendTo(target: DeclaredTarget, message: Message, signal?: AbortSignal): Promise<void> {
  if (target.kind === 'email') return sendMail(target, message, signal);
  if (target.kind === 'webhook') {
    const { body, headers } = signed(message, target.secret);
    await post(target.url, body, headers, signal);
    return;
  }
  const { headline, paragraphs } = message;
  const lines = [...(headline === undefined ? [] : [`*${escaped(headline)}*`]), ...paragraphs.map(escaped)];
  const status = await post(target.url, JSON.stringify({ text: lines.join('\n') }), {}, signal);
  if (status === 202) throw new Error(droppedByTeams);
}

/** Standard Webhooks 1.0: the receiver verifies the signature, and recognizes a repeated message by its id. */
function signed({ id: own, event: { type, data } }: Message, secret: string) {
  const id = `msg_${own}`;
  const now = new Date();
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const body = JSON.stringify({ type, timestamp: now, data });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    body,
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` },
  };
}

/** Quoted words must not notify a whole group. In Slack `<!channel>` does, in Mattermost and Discord a plain `@all`. */
function escaped(text: string): string {
  const { '&': and, '<': less, '>': more } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return text
    .replaceAll('&', and)
    .replaceAll('<', less)
    .replaceAll('>', more)
    .replace(/@(?=channel|here|all|everyone)/gi, '@\u200b');
}

/**
 * Slack, Mattermost and similar answer 200 once a message is shown. Teams workflows answer 202 and drop this format.
 */
const droppedByTeams =
  'it answered 202 and may drop the message, as Microsoft Teams does: use the e-mail address of the channel';

/** Resolves to the status, if it is below 300. */
async function post(url: string, body: string, headers: Record<string, string>, signal?: AbortSignal): Promise<number> {
  const { request } = await import('undici');
  const dispatcher = await openAgent(url);
  const expiry = AbortSignal.timeout(timeoutMs);
  try {
    const { statusCode: status } = await request(url, {
      dispatcher,
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'user-agent': 'trunkline', ...headers },
      signal: signal ? AbortSignal.any([signal, expiry]) : expiry,
    }).catch((error) => {
      throw faultOf('it', url, expiry.aborted ? { code: 'ETIMEDOUT' } : signal?.aborted ? { code: 'EABORT' } : error);
    });
    if (status >= 400) throw new Error(`it answered ${status}`);
    if (status >= 300) throw new Error(`it answered ${status}: set the address that it leads to`);
    return status;
  } finally {
    await dispatcher.destroy();
  }
}

/** Characters of a subject. */
const maxSubject = 100;

type MailTarget = Extract<DeclaredTarget, { kind: 'email' }>;

async function sendMail({ smtpUrl, to, from }: MailTarget, message: Message, signal?: AbortSignal): Promise<void> {
  const { id, headline, paragraphs, follows } = message;
  const lines = [...(headline === undefined ? [] : [headline]), ...paragraphs];
  const [first = ''] = (lines[0] ?? '').split(/[\r\n]/, 1);
  // Loaded on demand: most processes send no e-mail.
  const { createTransport } = await import('nodemailer');
  const url = new URL(smtpUrl);
  // For a proxy, Nodemailer has no default port.
  url.port ||= url.protocol === 'smtps:' ? '465' : '587';
  const transport = createTransport({
    url: url.href,
    proxy: proxyOf(url.href),
    // Without encryption, others could read the password.
    requireTLS: !isLoopbackUrl(url.href),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
  const expiry = AbortSignal.timeout(mailMs);
  const mail = {
    from,
    to: [...to],
    subject: headline ?? (first.length > maxSubject ? `${first.slice(0, maxSubject)}…` : first),
    text: `${lines.join('\n\n')}\n`,
    messageId: `<${id}@trunkline>`,
    ...(follows !== undefined && { inReplyTo: `<${follows}@trunkline>` }),
    headers: { 'auto-submitted': 'auto-generated' },
    signal: signal ? AbortSignal.any([signal, expiry]) : expiry,
  };
  await transport.sendMail(mail).catch((error) => {
    throw faultOf('the mail server', url.href, expiry.aborted ? { code: 'ETIMEDOUT' } : error);
  });
}
