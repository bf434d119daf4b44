import type { Faults } from './faults/faults.ts';
import type { Scripts } from './faults/scripts.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import type { Links } from './resources/links.ts';
import type { Directory } from './seed/directory.ts';
import type { Store } from './store/store.ts';
import type { Timers } from './timers.ts';
import type { Announce } from './webhooks/dispatcher.ts';

/** What a running sandbox consists of; routes and traffic take what they need of it. */
export interface Context {
  store: Store;
  directory: Directory;
  links: Links;
  faults: Faults;
  scripts: Scripts;
  history: History;
  timers: Timers;
  /** Chance for what happens from now on. */
  random: Random;
  now: () => Date;
  announce: Announce;
  /** Deliveries that neither arrived nor were given up. */
  pendingDeliveries: () => number;
  reset: () => Promise<void>;
}
