/** Whether the service answers this process at all; an error that it answers with is an answer. */
export interface Waiting {
  /** Milliseconds since its last answer; undefined before the first. */
  readonly answeredMs: number | undefined;
  /** The request that has waited longest: under way, or given up without an answer and not answered since. */
  readonly oldest: { readonly operation: string; readonly ms: number } | undefined;
}

/** Keeps which requests the service has not answered. */
export interface WaitingRequests {
  /** A request leaves; exactly one of the three is to be called when it ends. */
  begin(operation: string): { answered(): void; unanswered(): void; abandoned(): void };
  state(): Waiting;
}

export function createWaitingRequests(now: () => number): WaitingRequests {
  const underWay = new Set<{ readonly operation: string; readonly began: number }>();
  /** By operation, when the first request began that got no answer, since one last did. */
  const unanswered = new Map<string, number>();
  let answeredAt: number | undefined;

  return {
    begin(operation) {
      const request = { operation, began: now() };
      underWay.add(request);
      return {
        answered() {
          underWay.delete(request);
          unanswered.delete(operation);
          answeredAt = now();
        },
        unanswered() {
          underWay.delete(request);
          if (!unanswered.has(operation)) unanswered.set(operation, request.began);
        },
        abandoned: () => void underWay.delete(request),
      };
    },
    state() {
      const waiting = [...underWay, ...[...unanswered].map(([operation, began]) => ({ operation, began }))];
      const oldest = waiting.sort((a, b) => a.began - b.began)[0];
      return {
        answeredMs: answeredAt === undefined ? undefined : now() - answeredAt,
        oldest: oldest && { operation: oldest.operation, ms: now() - oldest.began },
      };
    },
  };
}
