import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { Pool } from 'undici';
import { callDelivery } from './payloads.ts';

// A stand-in for the service whose calls end when it is told so: each is delivered at once, and listed only from then on.
const connections = 64;
/** Calls are delivered when they began so many seconds ago. */
const age = { least: 100, most: 900 };
const prefix = '/api/public/v1';
const pageCap = 500;

const answers = new Map<string, Buffer>();
const listed = new Map<number, string[]>();
const none = Buffer.from('{"data":[]}');
let next = 0;

/** The id of a call that begins at a second. */
function callId(at: number, second: number): string {
  return `${second}.${100_000 + at}`;
}

/** A call as the API lists it. */
function callResource(at: number, second: number): Record<string, unknown> {
  const outside = `1718${5_000_000 + ((at * 7_919) % 4_000_000)}`;
  return {
    id: callId(at, second),
    direction: 'inbound',
    status: 'missed',
    statusCode: -1,
    callerType: 'external',
    callerName: 'WIRELESS CALLER',
    callerNumber: outside,
    calledType: 'user',
    calledName: 'Front Desk',
    calledNumber: String(100 + (at % 300)),
    dialledNumber: `1845555${9_000 + (at % 40)}`,
    callerIdInternal: '',
    callerIdExternal: outside,
    startTime: new Date(second * 1_000).toISOString(),
    endTime: new Date((second + 24) * 1_000).toISOString(),
    durationSeconds: 24,
    talkTimeSeconds: 0,
    transferred: 0,
    abandoned: true,
    recorded: false,
    repeated: at % 5,
  };
}

/** A call as the API shows it by itself. */
function callWithLegs(at: number, second: number): Record<string, unknown> {
  const call = callResource(at, second);
  const leg = (sequence: number) => ({
    uniqueId: `${second}.${500_000_000 + at * 2 + sequence}`,
    callId: call.id,
    status: 'noanswer',
    callerNumber: call.callerNumber,
    calledNumber: call.calledNumber,
    startTime: call.startTime,
    durationSeconds: 12,
    talkTimeSeconds: 0,
    recorded: false,
  });
  return { ...call, legs: [leg(0), leg(1)] };
}

interface Order {
  /** Where the deliveries go. */
  readonly hook: string;
  readonly count: number;
}

/** Ends calls, each when its delivery is sent; resolves to their ids when every delivery was answered. */
async function endCalls({ hook, count }: Order): Promise<string[]> {
  const { origin, pathname: path } = new URL(hook);
  await using pool = Object.assign(new Pool(origin, { connections }), { [Symbol.asyncDispose]: () => pool.close() });
  const ids: string[] = [];
  async function send(): Promise<void> {
    while (ids.length < count) {
      const at = next;
      next += 1;
      const second = Math.floor(Date.now() / 1_000) - age.least - ((at * 7_919) % (age.most - age.least));
      const id = callId(at, second);
      ids.push(id);
      answers.set(id, Buffer.from(JSON.stringify({ data: callWithLegs(at, second) })));
      const sameSecond = listed.get(second) ?? [];
      listed.set(second, sameSecond);
      sameSecond.push(JSON.stringify(callResource(at, second)));
      const headers = { 'content-type': 'application/json' };
      const { statusCode, body } = await pool.request({ path, method: 'POST', headers, body: callDelivery(at, id) });
      const said = await body.text();
      if (statusCode >= 300) throw new Error(`A delivery was answered ${statusCode}: ${said}`);
    }
  }
  await Promise.all(Array.from({ length: connections }, send));
  return ids;
}

interface Search {
  readonly start: number;
  readonly end: number;
  readonly limit: number;
  readonly offset: number;
}

/** Ascending, as it is asked for; both ends of the window belong to it. */
function page({ start, end, limit, offset }: Search): Buffer {
  const seconds = [...listed.keys()].filter((second) => second >= start && second <= end).sort((a, b) => a - b);
  const within = seconds.flatMap((second) => listed.get(second) ?? []);
  const cap = Math.min(limit, pageCap);
  const calls = within.slice(offset, offset + cap);
  return Buffer.from(`{"data":{"total":${within.length},"limit":${cap},"offset":${offset},"calls":[${calls.join()}]}}`);
}

async function answerOf(request: IncomingMessage): Promise<Buffer> {
  const { url = '', method } = request;
  if (url === '/end-calls') return Buffer.from(JSON.stringify(await endCalls((await json(request)) as Order)));
  const path = url.slice(prefix.length);
  if (method === 'POST' && path === '/calls/search') return page((await json(request)) as Search);
  request.resume();
  return answers.get(decodeURIComponent(path.slice('/calls/'.length))) ?? none;
}

const server = createServer(async (request, response) => {
  const { status, body } = await answerOf(request).then(
    (answer) => ({ status: 200, body: answer }),
    (error: Error) => ({ status: 500, body: Buffer.from(error.message) }),
  );
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) console.log(JSON.stringify({ url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGTERM', () => process.exit());
