import autocannon from 'autocannon';
import type { Load, LoadRequest } from './load.ts';
import { callDelivery, textDelivery, threadCount } from './payloads.ts';

// The load generator: a process of its own, so that it measures the server and not the bench.
process.on('message', async (request: LoadRequest) => {
  process.send?.(await generate(request));
});
process.once('disconnect', () => process.exit());

/** With `firstCall`, each delivery names another call. Else each connection sends texts of threads that no other one sends, so that any batch meets as many threads as it can. */
async function generate({ url, seconds, connections, firstCall }: LoadRequest): Promise<Load> {
  let next = 0;
  let call = firstCall ?? 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    setupClient(client) {
      const connection = next;
      next += 1;
      const headers = { 'content-type': 'application/json' };
      if (firstCall !== undefined) {
        const setupRequest = (request: autocannon.Request) => ({ ...request, body: callDelivery(call++) });
        client.setRequests([{ method: 'POST', headers, setupRequest }]);
        return;
      }
      const bodies: string[] = [];
      for (let thread = connection; thread < threadCount; thread += connections) bodies.push(textDelivery(thread));
      client.setRequests(bodies.map((body) => ({ method: 'POST', headers, body })));
    },
  });
  return {
    perSecond: result['2xx'] / result.duration,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failed: result.non2xx + result.errors,
  };
}
