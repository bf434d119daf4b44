import { createServer } from 'node:http';
import { callResource, callWithLegs, firstAt } from './calls.ts';

// A stand-in for the service that answers at once: every answer is made before it is asked for.
const count = Number(process.argv[2]);
const rows = Array.from({ length: count }, (_, at) => JSON.stringify(callResource(at)));
const single = new Map(
  Array.from({ length: count }, (_, at) => {
    const call = callWithLegs(at);
    return [String(call.id), Buffer.from(JSON.stringify({ data: call }))] as const;
  }),
);
const none = Buffer.from('{"data":[]}');
const prefix = '/api/public/v1';
const pageCap = 500;

const server = createServer((request, response) => {
  const path = (request.url ?? '').slice(prefix.length);
  if (request.method === 'POST' && path === '/calls/search') {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => send(page(JSON.parse(Buffer.concat(chunks).toString()) as Search)));
    return;
  }
  request.resume();
  send(single.get(decodeURIComponent(path.slice('/calls/'.length))) ?? none);

  function send(body: Buffer): void {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  }
});

interface Search {
  readonly start: number;
  readonly end: number;
  readonly limit: number;
  readonly offset: number;
}

/** Ascending, as it is asked for; both ends of the window belong to it. */
function page({ start, end, limit, offset }: Search): Buffer {
  const first = Math.min(firstAt(start), count);
  const last = Math.min(firstAt(end + 1), count);
  const from = Math.min(first + offset, last);
  const calls = rows.slice(from, Math.min(from + Math.min(limit, pageCap), last));
  return Buffer.from(
    `{"data":{"total":${last - first},"limit":${Math.min(limit, pageCap)},"offset":${offset},"calls":[${calls.join()}]}}`,
  );
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) console.log(JSON.stringify({ url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGTERM', () => process.exit());
