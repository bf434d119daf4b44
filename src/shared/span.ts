/** A span of time; the end is exclusive. Numbers are Unix seconds. */
export interface Span<Moment extends number | Date = number> {
  readonly from: Moment;
  readonly to: Moment;
}
