import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A request that a target got. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real HTTP server that takes alerts. */
export interface HttpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** The status of the next answers; 0 answers never. */
  status: number;
}

export async function startHttpReceiver(): Promise<HttpReceiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    receiver.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    if (receiver.status !== 0) response.writeHead(receiver.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: HttpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a-secret-path`,
    received: [],
    status: 200,
    async [Symbol.asyncDispose]() {
      const end = once(server, 'close');
      server.closeAllConnections();
      server.close();
      await end;
    },
  };
  return receiver;
}

/** A real mail server that asks for a user and a password. */
export interface MailReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: { readonly to: readonly string[]; readonly text: string }[];
}

export async function startMailReceiver(): Promise<MailReceiver> {
  const received: { to: string[]; text: string }[] = [];
  const server = new SMTPServer({
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth({ username, password }, _session, done) {
      if (username === 'owner' && password === 'hunter2') done(null, { user: username });
      else done(new Error('no'));
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        received.push({ to: envelope.rcptTo.map(({ address }) => address), text: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    url: `smtp://owner:hunter2@127.0.0.1:${(listening.address() as AddressInfo).port}`,
    received,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
