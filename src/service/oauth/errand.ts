import type { CustomFetch } from 'openid-client';
import { type Effect, ServiceError } from '../errors.ts';
import type { Received } from '../transport/exchange.ts';
import { readStep, type Step, UnusableAnswer } from './answers.ts';
import type { Connections } from './connections.ts';
import { oauthRefusal } from './refusal.ts';

/** One operation on its way through the library, which asks for the discovery document first and then for one thing more. */
export interface Errand {
  /** Stands in for `fetch`: our limits, no redirect, and answers in the form that the library insists on. */
  fetch: CustomFetch;
  /** What the library threw, as an error of ours; it keeps nothing of the library's, whose errors hold whole answers. */
  explain(error: unknown): ServiceError;
}

interface Circumstances {
  operation: string;
  connections: Connections;
  /** The base address, without a slash at its end. */
  base: string;
  now: () => number;
  /** As registered: the library would name the address without its query. */
  redirectUri?: string;
}

export function createErrand({ operation, connections, base, now, redirectUri }: Circumstances): Errand {
  let effect: Effect = 'none';

  async function ask(
    step: Step,
    address: string,
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body: string,
  ) {
    const sent = { operation, method, headers, isAlone: step !== 'discovery', ...(body !== '' && { body }) };
    try {
      return await connections.exchange(address, sent);
    } catch (error) {
      throw step === 'discovery' && error instanceof ServiceError ? withoutEffect(error) : error;
    }
  }

  function readable(step: Step, { body, status }: Received): Response {
    try {
      const fields = readStep(step, body, { issuer: base, isPlain: base.startsWith('http:') });
      const headers = { 'content-type': 'application/json' };
      return new Response(JSON.stringify(fields), { status: step === 'registration' ? 201 : 200, headers });
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error;
      const message = `the answer of the ${step} endpoint cannot be used: ${error.message}`;
      throw new ServiceError('unreadable', message, { operation, status, effect });
    }
  }

  return {
    async fetch(address, options) {
      const form = options.body instanceof URLSearchParams ? options.body : undefined;
      const step: Step = options.method === 'GET' ? 'discovery' : form ? 'token' : 'registration';
      if (redirectUri !== undefined && form?.has('redirect_uri')) form.set('redirect_uri', redirectUri);
      const body = form?.toString() ?? (typeof options.body === 'string' ? options.body : '');
      const answer = await ask(step, address, step === 'discovery' ? 'GET' : 'POST', options.headers, body);
      if (answer.status < 200 || answer.status > 299) {
        throw oauthRefusal({ operation, step, secrets: secretsOf(form) }, answer, now());
      }
      if (step !== 'discovery') effect = 'unknown';
      return readable(step, answer);
    },
    explain(error) {
      const ours = findOurs(error);
      if (ours !== undefined) return ours;
      const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no code';
      if (code === 'OAUTH_MISSING_SERVER_METADATA') {
        const message = 'the discovery document names no endpoint for this';
        return new ServiceError('unsupported', message, { operation, effect });
      }
      return new ServiceError('unreadable', `the service does not keep to OAuth (${code})`, { operation, effect });
    },
  };
}

function secretsOf(form: URLSearchParams | undefined): string[] {
  return ['code', 'code_verifier', 'refresh_token'].flatMap((key) => form?.getAll(key) ?? []);
}

/** The library wraps what its `fetch` threw. */
function findOurs(error: unknown): ServiceError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ServiceError) return at;
  return undefined;
}

/** Asking for a document changes nothing, whether or not it came. */
function withoutEffect(error: ServiceError): ServiceError {
  const { code, message, operation, advice, status, cause } = error;
  return new ServiceError(code, message.slice(operation.length + 2), {
    operation,
    advice,
    status,
    cause,
    effect: 'none',
  });
}
