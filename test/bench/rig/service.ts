import { Agent, request } from 'undici';
import type { SandboxAccess } from './daemon.ts';

/** The sandbox as a bench sees it: what happens there, and what it was asked. */
export interface ServiceControl extends AsyncDisposable {
  /** SMS lines of the account. */
  lines(): Promise<readonly string[]>;
  /** Lets a text arrive, without telling any webhook of it. */
  text(line: string, number: string): Promise<{ id: number }>;
  /** Lets a call end, without telling any webhook of it. */
  call(): Promise<{ id: string }>;
  /** How long one read of the API takes, in milliseconds. */
  roundTrip(path: string): Promise<number>;
  /** POSTs a delivery; throws when it is not answered 202. */
  deliver(hook: string, body: object): Promise<void>;
}

export function controlService({ url, apiKey }: SandboxAccess): ServiceControl {
  const dispatcher = new Agent({ connections: 64 });

  async function ask<T>(method: 'GET' | 'POST', address: string, body?: object): Promise<T> {
    const answer = await request(address, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${address}: ${answer.statusCode} ${await answer.body.text()}`);
    return (await answer.body.json()) as T;
  }

  const data = async <T>(answer: Promise<{ data: T }>): Promise<T> => (await answer).data;
  const event = <T>(kind: string, body: object) =>
    data(ask<{ data: T }>('POST', `${url}/_sandbox/events/${kind}`, body));
  return {
    async lines() {
      const found = await data(ask<{ data: { number: string }[] }>('GET', `${url}/api/public/v1/sms/lines`));
      return found.map(({ number }) => number);
    },
    text: (line, number) => event('sms', { line, number, announce: false }),
    call: () => event('call', { announce: false }),
    async roundTrip(path) {
      const began = performance.now();
      await ask('GET', `${url}/api/public/v1${path}`);
      return performance.now() - began;
    },
    async deliver(hook, body) {
      const { received } = await ask<{ received: number }>('POST', hook, body);
      if (received === 0) throw new Error('The receiver recognized nothing in a delivery');
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
}

/** A text's delivery in the captured shape. */
export function textPayload(id: number, line: string, number: string): object {
  return {
    id,
    direction: 'received',
    startTime: '2026-04-21T18:47:50-04:00',
    fromNumber: number,
    toNumber: line,
    message: 'On my way',
    media: null,
    webhookType: 'AccountSMS',
  };
}

/** An ended call's delivery: of its captured fields, those that matter. */
export function callPayload(callId: string): object {
  return { callId, direction: 'incoming', status: 'answered', webhookType: 'AccountEndedCalls', cdrs: [] };
}
