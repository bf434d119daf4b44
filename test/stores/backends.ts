import { inject } from 'vitest';

/** The stores a queue can live in; `describe.each(backends)('on %s', (backend) => …)` runs a test on both. */
export const backends = ['redis', 'postgres'] as const;

export type Backend = (typeof backends)[number];

/** The `redisUrl` setting that selects a backend: the Redis of this run, or none. */
export function redisUrlOf(backend: Backend): string | undefined {
  return backend === 'redis' ? inject('redisUrl') : undefined;
}
