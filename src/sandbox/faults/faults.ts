import { type EventType, eventTypes, type Subscription } from '../account.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import type { Store } from '../store/store.ts';
import {
  type AnswerFault,
  answerFaultsOf,
  type DeliveryFault,
  deliveryFaultsOf,
  type FaultInput,
  type FaultSpec,
  faultSpec,
  type SubscriptionFault,
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

/** The faults in force. The same seed, faults and requests give the same failures. */
export function createFaults(seed: number) {
  const operations = new Set<string>();
  const faultSeed = deriveSeed(seed, 'faults');
  const random = createRandom(faultSeed);
  let revision = 0;
  let current = faultSpec.parse({});
  let draws = drawsOf(current);

  function drawsOf(spec: FaultSpec) {
    return {
      answers: createFaultDraw(answerFaultsOf(spec), deriveSeed(faultSeed, 'answers')),
      deliveries: createFaultDraw(deliveryFaultsOf(spec), deriveSeed(faultSeed, 'deliveries')),
    };
  }

  function requireKnown({ operations: named = [] }: AnswerFault, index: number): void {
    const unknown = named.find((name) => !name.includes('/') && !operations.has(name));
    if (unknown === undefined) return;
    const known = [...operations].sort().join(', ');
    throw invalidRequest(`answers[${index}].operations: ${unknown} is unknown; use one of ${known}, or a path prefix`);
  }

  const isFor = (type: EventType) => (fault: DeliveryFault) => fault.types === undefined || fault.types.includes(type);

  return {
    /** For faults that are read from `current`. */
    random,
    current: () => current,
    /** Rises with each `set`, so that a caller sees whether its faults are still in force. */
    revision: () => revision,
    /** Lets faults name an operation. */
    registerOperation: (operationId: string) => void operations.add(operationId),
    /** Replaces all faults; `{}` removes them. Throws a 400 when a fault names an unknown operation. */
    set(input: FaultInput): FaultSpec {
      const spec = faultSpec.parse(input);
      spec.answers.forEach(requireKnown);
      current = spec;
      draws = drawsOf(spec);
      random.reseed(faultSeed);
      revision += 1;
      return spec;
    },
    drawAnswerFaults: (request: FaultableRequest) => draws.answers((fault) => appliesTo(fault, request)),
    /** All faults of one delivery except `early`, which is drawn per event. */
    drawDeliveryFaults: (type: EventType) => draws.deliveries((fault) => fault.kind !== 'early' && isFor(type)(fault)),
    /** For how many milliseconds the API hides the entity of an event that is about to be announced. */
    drawHiddenMs(type: EventType): number {
      const drawn = draws.deliveries((fault) => fault.kind === 'early' && isFor(type)(fault));
      return Math.max(0, ...drawn.map((fault) => (fault.kind === 'early' ? fault.ms : 0)));
    },
  };
}

/**
 * Returns a function that draws which of the faults apply this time, in their order. Each fault has its own random
 * source, so that adding one does not change when the others apply.
 */
function createFaultDraw<Fault extends { kind: string; rate: number; times?: number | undefined }>(
  faults: readonly Fault[],
  seed: number,
): (matches: (fault: Fault) => boolean) => InjectedFault<Fault>[] {
  const states = faults.map((fault, index) => ({
    ...fault,
    random: createRandom(deriveSeed(seed, `${index} ${fault.kind}`)),
    left: fault.times ?? Number.POSITIVE_INFINITY,
  }));
  return (matches) =>
    states.filter((state) => {
      if (state.left === 0 || !matches(state) || !state.random.chance(state.rate)) return false;
      state.left -= 1;
      return true;
    });
}

function appliesTo({ operations }: AnswerFault, request: FaultableRequest): boolean {
  if (operations === undefined) return request.isApi;
  return operations.some((name) => {
    if (!name.includes('/')) return name === request.operationId;
    const [path = '', method = request.method] = name.split(' ').reverse();
    return method === request.method && request.path.startsWith(path);
  });
}

/** The kinds of the faults, as the history shows them; undefined for none. */
export function faultNames(faults: readonly { kind: string }[]): string | undefined {
  return faults.length === 0 ? undefined : faults.map(({ kind }) => kind).join(', ');
}

/** Returns the changed subscription, or its duplicate; null when it was deleted. Throws a 404 for an unknown id. */
export function injectSubscriptionFault(
  { store: { subscriptions }, now }: { store: Pick<Store, 'subscriptions'>; now: () => Date },
  id: number,
  fault: SubscriptionFault,
): Subscription | null {
  const subscription = subscriptions.get(id);
  if (subscription === undefined) throw notFound(`the subscription ${id}`);
  const changed = { ...subscription, updatedAt: now().getTime() };
  switch (fault.kind) {
    case 'disabled':
      return subscriptions.put({ ...changed, enabled: false });
    case 'deleted':
      subscriptions.delete(id);
      return null;
    case 'retyped': {
      const next = eventTypes[(eventTypes.indexOf(subscription.type) + 1) % eventTypes.length];
      return subscriptions.put({ ...changed, type: fault.type ?? next ?? subscription.type });
    }
    case 'redirected':
      return subscriptions.put({ ...changed, url: fault.url });
    case 'duplicated':
      return subscriptions.put({ ...changed, id: subscriptions.highestKey() + 1, createdAt: changed.updatedAt });
  }
}
