import type { Telemetry } from 'bullmq';

/** The span that is being recorded. */
export interface Span {
  /** Sets attributes. Only the ones listed in `src/ops/telemetry.ts` are exported. */
  set(attributes: Readonly<Record<string, string | number>>): void;
}

export interface SpanOptions {
  /** Default: work within this process. */
  readonly kind?: 'client';
  readonly attributes?: Readonly<Record<string, string | number>>;
  /**
   * The causes of the work, each as a W3C `traceparent`. A single cause becomes the parent. Several become links of a
   * new trace. Default: the current span.
   */
  readonly causes?: readonly string[] | undefined;
}

/** The kind of process, recorded as an attribute of its traces. */
export type TracedProcess = 'web' | 'worker' | 'start';

/** How this process traces its work. */
export interface Tracing {
  /** Runs work in a span. A rejection marks the span as failed, without its message. */
  inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The current span as a W3C `traceparent`, if it is recorded. */
  traceparent(): string | undefined;
  /** Runs work outside the current span, for example a loop that outlives its caller. */
  detached<T>(work: () => T): T;
  readonly ofQueues: Telemetry;
}

let tracing: Tracing | undefined;

/** Switches tracing on or off. Queues and servers must be opened afterwards. */
export function useTracing(next: Tracing | undefined): void {
  tracing = next;
}

/** Undefined if this process records no traces; then OpenTelemetry is not loaded. */
export function currentTracing(): Tracing | undefined {
  return tracing;
}

/** The attributes of spans that write to Postgres. */
export const ofPostgres = { attributes: { 'db.system.name': 'postgresql' } } as const;

const noSpan: Span = { set: () => undefined };

export function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return tracing ? tracing.inSpan(name, options, work) : work(noSpan);
}

export function detached<T>(work: () => T): T {
  return tracing ? tracing.detached(work) : work();
}
