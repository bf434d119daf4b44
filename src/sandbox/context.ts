import type { Links } from './api/files.ts';
import type { Faults } from './faults/faults.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import type { Directory } from './seed/directory.ts';
import type { Store } from './store/store.ts';
import type { Timers } from './timers.ts';
import type { Announce } from './webhooks/dispatcher.ts';

/** The parts of a running sandbox. Functions take the ones they need. */
export interface Context {
  store: Store;
  directory: Directory;
  links: Links;
  faults: Faults;
  history: History;
  timers: Timers;
  /** For everything that happens after the start. */
  random: Random;
  now: () => Date;
  announce: Announce;
  /** Number of deliveries that are waiting or being sent. */
  pendingDeliveries: () => number;
  reset: () => Promise<void>;
}
