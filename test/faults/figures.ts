import { appendFileSync } from 'node:fs';

/** What a campaign did, for the table of a whole run. */
export interface Figures {
  readonly campaign: string;
  readonly backend: string;
  readonly what: string;
  readonly seconds: number;
}

/** Whether this run is one of `npm run faults`: in full size, with figures, and with draws of its own. */
export const isCampaign = process.env.FAULTS === 'all';

/** `FAULT_SHARE` makes every campaign smaller than it is in full, for trying. */
const share = Number(process.env.FAULT_SHARE ?? 1);

/** How large a campaign is that has this size in full. */
export function sized(full: number): number {
  return Math.max(1, Math.round(full * share));
}

/**
 * Says what a campaign did, once its oracle held, and writes it to the file that `FAULT_FIGURES` names, one JSON object
 * per line. `began` is on the clock of `performance.now`.
 */
export function report(campaign: string, backend: string, what: string, began: number): void {
  const figures: Figures = { campaign, backend, what, seconds: Math.round((performance.now() - began) / 1_000) };
  console.log(`${campaign} on ${backend}: ${what}, in ${figures.seconds} s: nothing lost, nothing doubled`);
  const file = process.env.FAULT_FIGURES;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figures)}\n`);
}

/** Prints how far a campaign is, at most every few seconds. */
export function createProgress(campaign: string): (text: () => string) => void {
  let said = performance.now();
  return (text) => {
    if (performance.now() - said < 5_000) return;
    said = performance.now();
    console.log(`${campaign}: ${text()}`);
  };
}
