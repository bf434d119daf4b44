import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A free port below those that outgoing connections take, so that it is still free when its process comes back. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const probe = createServer();
    const outcome = Promise.race([once(probe, 'listening').then(() => true), once(probe, 'error').then(() => false)]);
    probe.listen(port, '127.0.0.1');
    const isFree = await outcome;
    if (isFree) {
      probe.close();
      await once(probe, 'close');
      return port;
    }
  }
}
