import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from '../stores/redis.ts';

/** The address of a database at a port where nothing listens until `letIn` is called. */
export async function awayFrom(databaseUrl: string): Promise<{ readonly url: string; letIn(): Promise<void> }> {
  const port = await freePort();
  const url = new URL(databaseUrl);
  const to = Number(url.port);
  url.port = String(port);
  async function letIn(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(to, '127.0.0.1');
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
  }
  return { url: url.href, letIn };
}
