import { createService } from '../../src/api-client/client.ts';
import { createDatabase } from '../../src/db/database.ts';
import { createDispatcher } from '../../src/ledger/dispatcher.ts';
import { createLog } from '../../src/shared/log.ts';
import { createThreadRefresh } from '../../src/sync/read-thread-now.ts';

// A dispatcher in a process of its own, which says where it has arrived, and at the step it was given goes no further.
const [databaseUrl = '', apiUrl = '', key = '', hangAt = '', sendId = '', stallMs = '5000'] = process.argv.slice(2);
const log = createLog('silent');
const { db } = createDatabase({ url: databaseUrl, log, maxConnections: 2, name: 'dispatcher' });
const service = createService({ baseUrl: apiUrl, apiKey: key, log });
const notify = () => undefined;
const look = createThreadRefresh({ db, service, notify });

async function arrive(step: string): Promise<void> {
  console.log(step);
  if (step === hangAt) await new Promise(() => setInterval(() => {}, 60_000));
}

const dispatcher = createDispatcher({
  db,
  log,
  messages: {
    async send(request, call) {
      await arrive('dispatched');
      console.log('sending');
      const answer = await service.messages.send(request, call);
      await arrive('answered');
      return answer;
    },
  },
  async readThread(thread) {
    await arrive('reserved');
    const isWhole = await look(thread);
    await arrive('looked');
    return isWhole;
  },
  isBlocked: async () => false,
  mode: 'live',
  notify,
  timing: { stallMs: Number(stallMs) },
});
await dispatcher.advance(sendId);
await arrive('settled');
process.exit(0);
