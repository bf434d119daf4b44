import { normalizeNumber } from '../shared/numbers.ts';
import type { Answer } from './answers/envelope.ts';
import { ServiceError, untilAborted } from './errors.ts';
import { createResources, type Resources } from './operations.ts';
import type { Clock } from './transport/clock.ts';
import type { CallOptions, Operation } from './transport/operation.ts';
import type { Transport } from './transport/transport.ts';

/*
 * The service answers the same for "not found" and "not yours" (section 7), and another account has lists too. So the
 * account is checked before the first request, and again before an absence is believed or proves something (`confirm`):
 *
 *   unchecked ──check──▶ recognized ──a check finds another account──▶ refused: no request is sent, nothing is believed
 *       ▲                    ▲ └─ checked again, and without an answer: recognized, but the absence proves nothing
 *       └─ no answer ────────┘◀──────────────── a later check ──────────────────────┘
 */

/** The reads by which an account is recognized. They pass the gate unchecked. */
export type AccountReads = ReturnType<typeof accountReads>;

/**
 * Finds out whose account answers. Resolves to undefined if it's the mirrored one, else to the reason why not. Rejects
 * with a ServiceError if the service didn't say.
 */
export type AccountCheck = (reads: AccountReads) => Promise<string | undefined>;

/** Milliseconds for the answer to a check, including its tries and the wait for a slot: other calls wait for it. */
const answerMs = 5_000;

export function accountReads({ calls, lines, users }: Pick<Resources, 'calls' | 'lines' | 'users'>) {
  const soon = () => ({ signal: AbortSignal.timeout(answerMs) });
  return {
    call: (id: string) => calls.get(id, soon()),
    lines: async () => (await lines.list(soon())).data.map(({ number }) => normalizeNumber(number)),
    users: async () => (await users.list(soon())).data.map(({ id }) => String(id)),
  };
}

/** Shorter than the time between the spaced reads of a missing target, so that a check lies between them. */
const absenceMs = 15_000;
/** Milliseconds before another check after one that refused the account or got no answer. */
const refusedMs = 10_000;
const unansweredMs = 1_000;

/** Errors that show something other than the API at the address. */
const foreignCodes = new Set(['not_found', 'unexpected_status', 'unreadable', 'redirect']);

export function createAccountGate(transport: Transport, check: AccountCheck, { now }: Pick<Clock, 'now'>) {
  const reads = accountReads(createResources(transport));
  /** When the last check that recognized the account began. */
  let recognizedAt: number | undefined;
  let refused: { readonly reason: string; readonly until: number } | undefined;
  let unanswered: { readonly error: unknown; readonly until: number } | undefined;
  let running: Promise<void> | undefined;
  let problem: string | undefined;

  async function run(): Promise<void> {
    const began = now();
    try {
      const reason = await check(reads);
      [unanswered, problem] = [undefined, reason];
      recognizedAt = reason === undefined ? began : undefined;
      refused = reason === undefined ? undefined : { reason, until: now() + refusedMs };
    } catch (error) {
      unanswered = { error, until: now() + unansweredMs };
      if (error instanceof ServiceError && foreignCodes.has(error.code)) problem = error.message;
    } finally {
      running = undefined;
    }
  }

  /** Resolves once a check of at most this age recognized the account. Rejects with the reason, for `operation`. */
  async function recognized(operation: string, maxAgeMs: number, signal: AbortSignal | undefined): Promise<void> {
    const asked = now();
    for (let runs = 0; recognizedAt === undefined || recognizedAt < asked - maxAgeMs; runs += 1) {
      if (refused && now() < refused.until) {
        const details = { operation, effect: 'none', retryAfterMs: refusedMs } as const;
        throw new ServiceError('account_unrecognized', refused.reason, details);
      }
      if (unanswered && (now() < unanswered.until || runs > 1)) throw asErrorOf(operation, unanswered.error);
      running ??= run();
      await (signal === undefined ? running : untilAborted(operation, signal, running));
    }
  }

  /** Resolves once this process has recognized the account, and no later check found another one. */
  const admit = (operation: string, signal: AbortSignal | undefined) =>
    recognized(operation, Number.POSITIVE_INFINITY, signal);

  async function repeatable<T>(call: CallOptions | undefined, operation: Operation<T>): Promise<Answer<T>> {
    const { name, problem } = operation;
    if (problem !== undefined) return transport.repeatable(call, operation);
    await admit(name, call?.signal);
    let answer: Answer<T>;
    try {
      answer = await transport.repeatable(call, operation);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'not_found') await recognized(name, absenceMs, call?.signal);
      throw error;
    }
    if (isEmpty(answer.data)) await recognized(name, absenceMs, call?.signal);
    return answer;
  }

  return {
    /** The same calls, for the recognized account only. */
    transport: {
      repeatable,
      async once<T>(call: CallOptions | undefined, operation: Operation<T>): Promise<Answer<T>> {
        if (operation.problem === undefined) await admit(operation.name, call?.signal);
        return transport.once(call, operation);
      },
      abandon: transport.abandon,
    } satisfies Transport,
    /** Resolves after a new check recognized the account. Rejects with `ServiceError`. */
    confirm: (operation: string, signal: AbortSignal | undefined) => recognized(operation, 0, signal),
    /** Why the account isn't recognized; undefined if it is, or if nothing is known yet. */
    problem: (): string | undefined => problem,
  };
}

/** Whether data is an empty list, or an object with an empty list: nothing of what was asked for. */
function isEmpty(data: unknown): boolean {
  if (Array.isArray(data)) return data.length === 0;
  return typeof data === 'object' && data !== null && 'messages' in data && isEmpty(data.messages);
}

function asErrorOf(operation: string, error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) {
    const details = { operation, effect: 'none', cause: error } as const;
    return new ServiceError('account_unrecognized', 'the mirror could not be read', details);
  }
  const { code, detail, advice, status, scope, retryAfterMs, cause } = error;
  const details = { operation, effect: 'none', advice, status, scope, retryAfterMs, cause } as const;
  return new ServiceError(code, [detail, 'asked first, to recognize the account'].filter(Boolean).join(', '), details);
}
