/** A day in milliseconds. */
export const dayMs = 86_400_000;

/** A range of time; `to` is exclusive. Numbers are Unix seconds. */
export interface TimeRange<Moment extends number | Date = number> {
  readonly from: Moment;
  readonly to: Moment;
}
