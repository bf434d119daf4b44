import { readSettings } from '../../config/settings.ts';
import { runUntilStopped } from '../../src/cli/lifecycle.ts';
import { createContext, readySettings } from '../../src/context.ts';
import { startWatchdog } from '../../src/ops/watchdog.ts';
import { createLog } from '../../src/shared/log.ts';
import { startWorkers } from '../../workers/workers.ts';

// A worker as `trunkline worker` runs it, whose watchdog is less patient.
const settings = readySettings(readSettings(process.env));
const log = createLog('info');
const context = await createContext(settings, { log, name: 'worker', maxConnections: 6 });
const watchdog = startWatchdog(context, { stuckMs: 4_000 });
const workers = await startWorkers(context);
runUntilStopped(log, {
  abandon: (what) => context.service?.abandon(what),
  async close() {
    await workers.close(2_000);
    await watchdog.stop();
    await context[Symbol.asyncDispose]();
  },
});
log.info('The worker works');
