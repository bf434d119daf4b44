/** A span of time; the end is exclusive. Numbers are Unix seconds. */
export interface TimeRange<Moment extends number | Date = number> {
  readonly from: Moment;
  readonly to: Moment;
}
