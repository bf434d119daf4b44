import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

export interface Pooler extends AsyncDisposable {
  /** The database, by way of it. */
  readonly url: string;
}

const word = (text: string) => Buffer.from(`${text}\0`);

/** Leads to a Postgres as PgBouncer does in session mode: whoever brings `options` to the start of a session is refused. */
export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', (startup: Buffer) => {
      if (startup.includes('\0options\0')) return client.end(refusal('unsupported startup parameter: options'));
      const postgres = connect(Number(port), hostname);
      postgres.on('error', () => client.destroy());
      postgres.write(startup);
      client.pipe(postgres).pipe(client);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

/** An ErrorResponse of the protocol of Postgres. */
function refusal(message: string): Buffer {
  const fields = Buffer.concat([word('SFATAL'), word('C08P01'), word(`M${message}`), Buffer.alloc(1)]);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
