/*
 * Recordings and transcripts appear after the call, and some never do. `[]` is normal: what should be there is looked
 * for at growing distances from the end of the call, and then settled in a named state.
 */

/** Seconds after the end of a call at which late artefacts are looked for again. */
export const defaultLooks: readonly number[] = [60, 120, 300, 900, 3_600, 21_600, 86_400];

/** Seconds after an event at which what it told of is looked for again: an event can outrun what it tells of. */
export const looksAfterEvent: readonly number[] = [1, 3, 10, 60, 300];

/** Seconds from now to the next look, or undefined when the last one is over. Looks missed in a downtime count as one. */
export function nextLook(looks: readonly number[], endedAt: Date, now: Date): number | undefined {
  const elapsed = (now.getTime() - endedAt.getTime()) / 1000;
  const next = looks.find((look) => look > elapsed);
  return next === undefined ? undefined : Math.min(next - elapsed, looks.at(-1) ?? next);
}

/** The nearest of some looks, in seconds from now; undefined when there is none. */
export function soonest(looks: readonly (number | undefined)[]): number | undefined {
  const ahead = looks.filter((seconds) => seconds !== undefined);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}
