import type { EventType } from '../account.ts';
import { invalidRequest } from '../http/errors.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import {
  type AnswerFault,
  type DeliveryFault,
  type Fault,
  type FaultOf,
  isAnswerFault,
  isDeliveryFault,
} from './spec.ts';

/** A fault that was drawn, and the random source for its details. */
export type InjectedFault<Fault> = Fault & { random: Random };

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
 * so that adding one does not change when the others apply.
 */
export function createFaults(seed: number) {
  const operations = new Set<string>();
  let current: Fault[] = [];
  let states: (InjectedFault<Fault> & { left: number })[] = [];

  function requireKnown(fault: Fault, index: number): void {
    if (!isAnswerFault(fault) || fault.operation === undefined) return;
    if (operations.has(fault.operation) || /^[A-Z]+ \//.test(fault.operation)) return;
    const known = [...operations].sort().join(', ');
    throw invalidRequest(`[${index}].operation: ${fault.operation} is none of ${known}, and not like "GET /calls"`);
  }

  /** Draws which faults apply this time, in their order. */
  function draw<Kind extends Fault>(matches: (fault: Fault) => fault is Kind): InjectedFault<Kind>[] {
    const drawn = states.filter((state) => {
      if (state.left === 0 || !matches(state) || !state.random.chance(state.rate)) return false;
      state.left -= 1;
      return true;
    });
    return drawn as InjectedFault<Fault>[] as InjectedFault<Kind>[];
  }

  return {
    current: () => current,
    /** Lets faults name an operation. */
    registerOperation: (operationId: string) => void operations.add(operationId),
    /** Replaces all faults. Throws a 400 when a fault names an unknown operation. */
    set(faults: Fault[]): void {
      faults.forEach(requireKnown);
      current = faults;
      states = faults.map((fault, index) => ({
        ...fault,
        random: createRandom(deriveSeed(seed, `fault ${index} ${fault.kind}`)),
        left: fault.times ?? Number.POSITIVE_INFINITY,
      }));
    },
    drawAnswerFaults: (request: FaultableRequest) =>
      draw((fault): fault is AnswerFault => isAnswerFault(fault) && appliesTo(fault, request)),
    drawDeliveryFaults: (type: EventType) =>
      draw((fault): fault is DeliveryFault => isDeliveryFault(fault) && isFor(fault, type)),
    /** The faults of one kind that apply to an event. */
    drawEventFaults: <Kind extends 'early' | 'batched' | 'lateArtefacts'>(kind: Kind, type: EventType) =>
      draw((fault): fault is FaultOf<Kind> => fault.kind === kind && isFor(fault, type)),
  };
}

function isFor(fault: Fault, type: EventType): boolean {
  return !('type' in fault) || fault.type === undefined || fault.type === type;
}

function appliesTo({ operation }: AnswerFault, { operationId, method, path, isApi }: FaultableRequest): boolean {
  if (operation === undefined) return isApi;
  return operation === operationId || `${method} ${path}`.startsWith(operation);
}

/** The kinds of the faults, as the history shows them; undefined for none. */
export function faultNames(faults: readonly { kind: string }[]): string | undefined {
  return faults.length === 0 ? undefined : faults.map(({ kind }) => kind).join(', ');
}
