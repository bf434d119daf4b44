import { once } from 'node:events';
import { startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/shared/log.ts';

const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) {
  console.error('usage: node test/stores/open.ts <folder that a failed run kept>');
  process.exit(2);
}
await using postgres = await startPostgres({ dataDir, log: createLog('info') });
console.log(`${postgres.url}\nCtrl-C stops it.`);
const keepAlive = setInterval(() => {}, 60_000);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
clearInterval(keepAlive);
