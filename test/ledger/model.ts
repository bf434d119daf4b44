import { ServiceError } from '../../src/api-client/client.ts';
import { createDispatcher } from '../../src/ledger/dispatcher.ts';
import type { LedgerDeps } from '../../src/ledger/ledger.ts';
import type { Random } from '../faults/random.ts';

/** What the model keeps of the world: requests that the ledger let out, by the text that each intent alone has. */
export interface Posts {
  /** Requests without the proof that nothing came of them. */
  readonly possible: Map<string, number>;
  total: number;
}

/** How often a worker fails at each point, of one. */
export interface Clumsiness {
  readonly dies: number;
  readonly oversleeps: number;
}

/** The share of thread reads that fail, and of those that may not have been whole. */
const unreadable = 0.02;

/**
 * A worker that dies and oversleeps at every point where a process can: between two of its transactions, before and after
 * its request. One that died does nothing more, whatever it was about to do; another takes its place.
 */
export function createClumsyWorker(
  deps: LedgerDeps,
  posts: Posts,
  random: Random,
  { dies, oversleeps }: Clumsiness,
  leaseMs: number,
): { work(sendId: string): Promise<string> } {
  let onDeath = () => {};

  async function stumble(): Promise<void> {
    const draw = random.next();
    if (draw < dies) {
      onDeath();
      await new Promise(() => undefined);
    }
    if (draw < dies + oversleeps) await new Promise((resolve) => setTimeout(resolve, leaseMs * (1 + random.next())));
  }

  const dispatcher = createDispatcher({
    ...deps,
    async readThread(thread) {
      await stumble();
      if (random.next() < unreadable) throw new Error('the thread cannot be read');
      const isWhole = (await deps.readThread(thread)) && random.next() > unreadable;
      await stumble();
      return isWhole;
    },
    messages: {
      async send(request, call) {
        await stumble();
        const text = request.message ?? '';
        const count = (by: number) => posts.possible.set(text, (posts.possible.get(text) ?? 0) + by);
        posts.total += 1;
        count(1);
        try {
          const answer = await deps.messages.send(request, call);
          await stumble();
          return answer;
        } catch (error) {
          if (error instanceof ServiceError && error.effect === 'none') count(-1);
          await stumble();
          throw error;
        }
      },
    },
  });

  return {
    work: (sendId) =>
      Promise.race([
        dispatcher.advance(sendId),
        new Promise<string>((resolve) => {
          onDeath = () => resolve('died');
        }),
      ]),
  };
}
