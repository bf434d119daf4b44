import type { Finding } from '../report.ts';
import type { Stores } from './stores.ts';

/** What a bench is given. */
export interface Rig {
  readonly stores: Stores;
  /** Undefined: the bench's own default. */
  readonly rounds: number | undefined;
  readonly seconds: number | undefined;
  /** How many rows of the main kind a bench invents that lets one choose. */
  readonly rows: number | undefined;
  /** How many calls end in a round of a bench that lets one choose. */
  readonly calls: number | undefined;
  /** The databases are those that an earlier run kept; a bench that can reads them as they are. */
  readonly isKept: boolean;
  /** Where the plans of the slowest statements are kept. */
  readonly explainFile: string | undefined;
  /** Where the daemon's processes leave their CPU profiles. */
  readonly profileFolder: string | undefined;
  readonly progress: (text: string) => void;
}

export type Bench = (rig: Rig) => Promise<readonly Finding[]>;
