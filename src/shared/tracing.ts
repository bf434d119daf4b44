import type { Telemetry } from 'bullmq';

/** A span in progress. */
export interface Span {
  /** Sets attributes. Only those that `src/ops/telemetry.ts` lists are exported. */
  set(attributes: Readonly<Record<string, string | number>>): void;
}

export interface SpanOptions {
  /** Default: work within this process. */
  readonly kind?: 'client';
  readonly attributes?: Readonly<Record<string, string | number>>;
  /**
   * What caused the work, each as a W3C `traceparent`. One cause is its parent; several are links of a trace of its own.
   * Default: the span in progress.
   */
  readonly causes?: readonly string[] | undefined;
}

/** The kind of a process, an attribute of its traces. */
export type TracedProcess = 'web' | 'worker' | 'start';

/** How this process traces its work. */
export interface Tracing {
  /** Runs work in a span. A rejection marks the span as failed, without its message. */
  inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span in progress as a W3C `traceparent`, if it is recorded. */
  traceparent(): string | undefined;
  /** Runs work that belongs to no span in progress: a loop outlives whoever started it. */
  detached<T>(work: () => T): T;
  readonly ofQueues: Telemetry;
}

let tracing: Tracing | undefined;

/** Traces from now on, or no longer. Whatever opens queues or servers has to be opened later. */
export function useTracing(next: Tracing | undefined): void {
  tracing = next;
}

/** Undefined, and nothing of OpenTelemetry is loaded, unless this process traces. */
export function currentTracing(): Tracing | undefined {
  return tracing;
}

/** The attributes of a span that writes to Postgres. */
export const ofPostgres = { attributes: { 'db.system.name': 'postgresql' } } as const;

const noSpan: Span = { set: () => undefined };

export function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return tracing ? tracing.inSpan(name, options, work) : work(noSpan);
}

export function detached<T>(work: () => T): T {
  return tracing ? tracing.detached(work) : work();
}
