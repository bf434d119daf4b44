import type { EventType } from '../account.ts';
import { invalidRequest } from '../http/errors.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import { type AnswerFault, type Asked, concerns } from './answers.ts';
import type { DeliveryFault } from './deliveries.ts';
import { createLots, type Struck } from './lots.ts';
import { answerFaultsOf, deliveryFaultsOf, type FaultInput, type FaultSpec, faultSpec } from './spec.ts';

/** The faults in force. The same seed and the same faults strike the same way. */
export interface Faults {
  current(): FaultSpec;
  /** Replaces all faults; `{}` ends them. Throws when one names an operation that does not exist. */
  set(input: FaultInput): FaultSpec;
  /** Rises with each `set`: whoever set faults sees whether they are still in force. */
  revision(): number;
  /** Makes an operation known, so that faults can be narrowed to it. */
  know(operationId: string): void;
  strikeAnswer(asked: Asked): Struck<AnswerFault>[];
  /** What befalls an event on its way to one subscription; what makes it early befalls it before. */
  strikeDelivery(type: EventType): Struck<DeliveryFault>[];
  /** For how many milliseconds the API does not show what is about to be announced. */
  strikeEvent(type: EventType): number;
  /** Chance for whoever reads a fault from `current`. */
  readonly random: Random;
}

export function createFaults(seed: number): Faults {
  const operations = new Set<string>();
  const strikeSeed = deriveSeed(seed, 'faults');
  const random = createRandom(strikeSeed);
  let revision = 0;
  let current = faultSpec.parse({});
  let lots = lotsOf(current);

  function lotsOf(spec: FaultSpec) {
    return {
      answers: createLots(answerFaultsOf(spec), deriveSeed(strikeSeed, 'answers')),
      deliveries: createLots(deliveryFaultsOf(spec), deriveSeed(strikeSeed, 'deliveries')),
    };
  }

  function requireKnown({ operations: named = [] }: AnswerFault, place: number): void {
    const unknown = named.find((name) => !name.includes('/') && !operations.has(name));
    if (unknown === undefined) return;
    const all = [...operations].sort().join(', ');
    throw invalidRequest(`answers[${place}].operations: there is no ${unknown}; there are ${all}, and path prefixes`);
  }

  const isFor = (type: EventType) => (fault: DeliveryFault) => fault.types === undefined || fault.types.includes(type);

  return {
    random,
    current: () => current,
    revision: () => revision,
    know: (operationId) => void operations.add(operationId),
    set(input) {
      const spec = faultSpec.parse(input);
      spec.answers.forEach(requireKnown);
      current = spec;
      lots = lotsOf(spec);
      random.reseed(strikeSeed);
      revision += 1;
      return spec;
    },
    strikeAnswer: (asked) => lots.answers.draw((fault) => concerns(fault, asked)),
    strikeDelivery: (type) => lots.deliveries.draw((fault) => fault.kind !== 'early' && isFor(type)(fault)),
    strikeEvent(type) {
      const struck = lots.deliveries.draw((fault) => fault.kind === 'early' && isFor(type)(fault));
      return Math.max(0, ...struck.map(({ fault }) => (fault.kind === 'early' ? fault.ms : 0)));
    },
  };
}
