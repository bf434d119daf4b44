import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Pooler extends AsyncDisposable {
  /** The database, by way of it. */
  readonly url: string;
}

const word = (text: string) => Buffer.from(`${text}\0`);

/** A refusal by a pooler: its code and words, without the routine that Postgres itself would name. */
export interface PoolerRefusal {
  readonly code: string;
  readonly message: string;
}

/** Leads to a Postgres as PgBouncer does in session mode: whoever brings `options` to the start of a session is refused. */
export async function startPooler(
  databaseUrl: string,
  refused: () => PoolerRefusal | undefined = () => undefined,
): Promise<Pooler> {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', (startup: Buffer) => {
      if (startup.includes('\0options\0')) {
        return client.end(refusal({ code: '08P01', message: 'unsupported startup parameter: options' }));
      }
      const found = refused();
      if (found) return client.end(refusal(found));
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
function refusal({ code, message }: PoolerRefusal): Buffer {
  const fields = Buffer.concat([word('SFATAL'), word(`C${code}`), word(`M${message}`), Buffer.alloc(1)]);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/**
 * Leads to a Postgres as PgBouncer does in transaction mode: each transaction gets the server connection that was used last and
 * is free, and the settings that it leaves there stay. `settings` asks the free ones for theirs.
 */
export async function startTransactionPooler(databaseUrl: string): Promise<Pooler & { readonly statements: string[] }> {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const free: Socket[] = [];
  const statements: string[] = [];
  const server = createServer((client) => {
    let lent: Socket | undefined;
    let asked = Buffer.alloc(0);
    let answered = Buffer.alloc(0);
    const hear = (bytes: Buffer) => {
      answered = Buffer.concat([answered, bytes]);
      for (let message = cut(answered); message; message = cut(answered)) {
        answered = answered.subarray(message.length);
        const kind = message.toString('latin1', 0, 1);
        // The process id of a server that serves others too is of no use.
        if (kind === 'K') message.writeInt32BE(1, 5);
        client.write(message);
        const isFree = kind === 'Z' && message.toString('latin1', 5) === 'I';
        if (!isFree || !lent) continue;
        lent.off('data', hear);
        free.push(lent);
        lent = undefined;
      }
    };
    const lend = (socket: Socket) => {
      lent = socket;
      socket.on('data', hear);
    };
    client.on('error', () => undefined);
    client.once('data', (startup: Buffer) => {
      const postgres = connect(Number(port), hostname);
      postgres.on('error', () => client.destroy());
      postgres.write(startup);
      lend(postgres);
      client.on('data', (bytes: Buffer) => {
        asked = Buffer.concat([asked, bytes]);
        for (let message = cut(asked); message; message = cut(asked)) {
          asked = asked.subarray(message.length);
          const kind = message.toString('latin1', 0, 1);
          if (kind === 'X') return client.end();
          if (kind === 'Q' || kind === 'P') statements.push(message.toString('utf8', 5));
          if (!lent) {
            const next = free.pop();
            if (!next) throw new Error('no connection of the stand-in is free');
            lend(next);
          }
          lent?.write(message);
        }
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    statements,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of free) socket.destroy();
    },
  };
}

/** The first whole message of the protocol: a letter, and a length that counts itself. */
function cut(bytes: Buffer): Buffer | undefined {
  if (bytes.length < 5) return undefined;
  const length = 1 + bytes.readInt32BE(1);
  return bytes.length < length ? undefined : bytes.subarray(0, length);
}
