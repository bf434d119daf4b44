import type { Settings } from '../../config/settings.ts';
import type { Log } from '../shared/log.ts';
import { withTimeout } from '../shared/timeout.ts';
import type { TracedProcess } from '../shared/tracing.ts';

/** Milliseconds for sending the last spans when stopping. */
const stopMs = 500;

/**
 * Starts OpenTelemetry traces if the settings say so; otherwise nothing of it is loaded. Call it before queues and
 * servers are opened. Never rejects: the work goes on without traces. `stop` waits for half a second at most.
 */
export async function startTelemetry(
  { tracing }: Pick<Settings, 'tracing'>,
  process: TracedProcess,
  log: Log,
): Promise<{ stop(): Promise<void> }> {
  if (tracing !== 'on') return { stop: () => Promise.resolve() };
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  const shutDown = startOpenTelemetry(process, log);
  return {
    stop: () =>
      withTimeout(
        stopMs,
        shutDown().catch(() => undefined),
        () => undefined,
      ),
  };
}
