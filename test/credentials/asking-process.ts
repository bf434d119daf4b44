import { createInterface } from 'node:readline';
import { createService } from '../../src/api-client/client.ts';
import { openCredential } from '../../src/credentials/credentials.ts';
import { createLog } from '../../src/shared/log.ts';

// Asks the API with whoever is logged in: once when it starts, then so often at once as each line of its input says.
const [baseUrl = '', databaseUrl = '', encryptionKey = ''] = process.argv.slice(2);
const log = createLog('silent');
const open = openCredential({ api: { baseUrl, key: undefined }, encryptionKey, databaseUrl }, log);
if (open === undefined) throw new Error('these settings name no credential');
const service = createService({ baseUrl, credential: open.credential, log });

async function ask(times: number): Promise<string> {
  const asked = await Promise.allSettled(Array.from({ length: times }, () => service.lines.list()));
  const failures = asked.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  return JSON.stringify({ answered: times - failures.length, failures: [...new Set(failures)] });
}

console.log(await ask(1));
for await (const line of createInterface({ input: process.stdin })) console.log(await ask(Number(line)));
await service.close();
await open.close();
