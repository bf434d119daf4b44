import type { ClientBase } from 'pg';
import { breakSilence } from './silence.ts';

/**
 * Prepares each new connection of a pool. Compiling (`jit`, on by default) takes 0.5 to 3 s where the planner overestimates
 * a statement, and our statements are short. As a statement, because poolers refuse it as a start-up parameter.
 */
export function prepareSession(url: string): (client: ClientBase) => Promise<void> {
  const watch = breakSilence(url);
  return async (client) => {
    await client.query('set jit = off');
    await watch(client);
  };
}
