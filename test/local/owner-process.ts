import { startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/shared/log.ts';

// Owns a Postgres until it is killed, without a handler for any signal.
const [dataDir = ''] = process.argv.slice(2);
const { url, pid } = await startPostgres({ dataDir, log: createLog('silent') });
console.log(JSON.stringify({ url, pid }));
setInterval(() => {}, 60_000);
