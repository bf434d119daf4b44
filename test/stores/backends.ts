import { inject } from 'vitest';

const stores = ['redis', 'postgres'] as const;

export type Backend = (typeof stores)[number];

/**
 * The stores a queue can live in, of those that this machine has: `describe.each(backends)('on %s', (backend) => …)` runs a test on
 * each of them.
 */
export const backends: readonly Backend[] = inject('redisUrl') === '' ? ['postgres'] : stores;

/** The `redisUrl` setting that selects a backend: the Redis of this run, or none. */
export function redisUrlOf(backend: Backend): string | undefined {
  return backend === 'redis' ? inject('redisUrl') : undefined;
}
