import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../context.ts';
import { ApiError, typeOfStatus } from './errors.ts';

/** An error that a fault put in the place of an answer. */
class InjectedError extends ApiError {
  readonly retryAfterSeconds: number | null;

  constructor(status: number, retryAfterSeconds: number | null) {
    super(status, typeOfStatus(status), 'injected by the sandbox');
    this.name = 'InjectedError';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Lets the faults strike the routes registered after it; behind the guard, so that none hides a wrong credential. */
export function strike(app: FastifyInstance, { faults }: Pick<Context, 'faults'>): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());

  app.addHook('onRequest', async () => {
    const { latencyMs, errorRate, status, retryAfterSeconds } = faults.current();
    if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: closing.signal }).catch(() => undefined);
    if (errorRate > 0 && faults.random.chance(errorRate)) throw new InjectedError(status, retryAfterSeconds);
  });
}

/** What an injected error adds to its answer. */
export function addRetryAfter(error: Error, reply: FastifyReply): void {
  if (!(error instanceof InjectedError) || error.retryAfterSeconds === null) return;
  reply.header('retry-after', error.retryAfterSeconds);
}
