import type { EventType } from '../account.ts';
import { invalidRequest } from '../http/errors.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import {
  type AnswerFault,
  type DeliveryFault,
  type EarlyEvent,
  type Fault,
  isAnswerFault,
  isDeliveryFault,
  isEarly,
} from './spec.ts';

/** A request as the faults see it. */
interface FaultableRequest {
  operationId: string | undefined;
  method: string;
  /** Without the API prefix and the query. */
  path: string;
  /** False outside the API prefix: only faults that name such a request apply to it. */
  isApi: boolean;
}

export type Faults = ReturnType<typeof createFaults>;

/**
 * The faults in force. The same seed, faults and requests give the same failures: each fault has its own random source,
 * so that adding one doesn't change when the others apply.
 */
export function createFaults(seed: number) {
  const operations = new Set<string>();
  let states: { fault: Fault; random: Random; left: number }[] = [];

  function requireKnown(fault: Fault, index: number): void {
    if (!isAnswerFault(fault) || fault.operation === undefined) return;
    if (operations.has(fault.operation) || /^[A-Z]+ \//.test(fault.operation)) return;
    const known = [...operations].sort().join(', ');
    throw invalidRequest(`[${index}].operation: ${fault.operation} is none of ${known}, and not like "GET /calls"`);
  }

  /** Draws which faults apply this time, in their order. */
  function draw<Kind extends Fault>(matches: (fault: Fault) => fault is Kind): Kind[] {
    return states.flatMap((state) => {
      const { fault, random, left } = state;
      if (left === 0 || !matches(fault) || !random.chance(fault.rate)) return [];
      state.left -= 1;
      return [fault];
    });
  }

  return {
    current: () => states.map(({ fault }) => fault),
    /** Lets faults name an operation. */
    registerOperation: (operationId: string) => void operations.add(operationId),
    /** Replaces all faults. Throws a 400 when a fault names an unknown operation. */
    set(faults: Fault[]): void {
      faults.forEach(requireKnown);
      states = faults.map((fault, index) => ({
        fault,
        random: createRandom(deriveSeed(seed, `fault ${index} ${fault.kind}`)),
        left: fault.times ?? Number.POSITIVE_INFINITY,
      }));
    },
    drawAnswerFaults: (request: FaultableRequest) =>
      draw((fault): fault is AnswerFault => isAnswerFault(fault) && appliesTo(fault, request)),
    drawDeliveryFaults: (type: EventType) =>
      draw((fault): fault is DeliveryFault => isDeliveryFault(fault) && isFor(fault, type)),
    drawEarly: (type: EventType) => draw((fault): fault is EarlyEvent => isEarly(fault) && isFor(fault, type))[0],
  };
}

function isFor(fault: DeliveryFault | EarlyEvent, type: EventType): boolean {
  return fault.type === undefined || fault.type === type;
}

function appliesTo({ operation }: AnswerFault, { operationId, method, path, isApi }: FaultableRequest): boolean {
  if (operation === undefined) return isApi;
  return operation === operationId || `${method} ${path}`.startsWith(operation);
}

/** The kinds of the faults, as the history shows them; undefined for none. */
export function faultNames(faults: readonly { kind: string }[]): string | undefined {
  return faults.length === 0 ? undefined : faults.map(({ kind }) => kind).join(', ');
}
