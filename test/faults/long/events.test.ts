import { connect, type Socket } from 'node:net';
import { test, vi } from 'vitest';
import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import { deployForSuite } from '../deployment/suite.ts';
import { startLoad } from '../load/load.ts';
import { createSender } from '../load/sender.ts';
import { received } from '../load/traffic.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const deployment = deployForSuite({ backend: 'redis' });
const weekMs = 7 * 86_400_000;

/** What is told in another way must be understood all the same. */
const telling: readonly (readonly [string, ...FaultInput[]])[] = [
  ['a hundred times at once', { kind: 'repeated', copies: 100, rate: 0.1 }],
  ['again much later', { kind: 'repeated', afterMs: 3_000, rate: 0.5 }],
  ['behind those of the next second', { kind: 'reordered', rate: 0.5 }],
  ['with call ids as numbers', { kind: 'encoded', as: 'unquotedCallIds' }],
  ['as a form', { kind: 'encoded', as: 'form', rate: 0.5 }],
  ['wrapped', { kind: 'encoded', as: 'nested', rate: 0.3 }, { kind: 'encoded', as: 'stringified', rate: 0.3 }],
  ['in an array', { kind: 'encoded', as: 'array', rate: 0.5 }],
  ['under an unknown type', { kind: 'encoded', as: 'unknownType', rate: 0.5 }],
  ['under the type of another event', { kind: 'encoded', as: 'contradictingType', rate: 0.3 }],
  ['by PUT', { kind: 'addressed', as: 'put', rate: 0.5 }],
  ['below the address', { kind: 'addressed', as: 'suffixed', rate: 0.5 }],
];

/** What cannot be understood is kept, and told again by whatever comes next. */
const garbled: readonly (readonly [string, ...FaultInput[]])[] = [
  ['before the API knows of it, with receipts lost', { kind: 'early', ms: 1_000, rate: 0.3 }],
  ['malformed', { kind: 'encoded', as: 'malformed', rate: 0.4 }],
  ['cut short', { kind: 'encoded', as: 'truncated', rate: 0.4 }],
  ['empty', { kind: 'encoded', as: 'empty', rate: 0.4 }],
  ['one byte larger than a MiB', { kind: 'oversized', rate: 0.2 }],
  ['byte by byte', { kind: 'trickled', everyMs: 100, rate: 0.1 }],
  ['by GET', { kind: 'addressed', as: 'get', rate: 0.4 }],
];

test.for([...telling, ...garbled])('mirrors what is told %s', async ([name, ...deliveries], { onTestFinished }) => {
  const { service } = deployment();
  const load = await startLoad(deployment(), createRandom(name), onTestFinished);
  await service.faults(...deliveries);
  await load.goesOn(50);
  await load.finish();
  await service.faults();
  if (garbled.some(([garbledName]) => garbledName === name)) await load.remind();
  await expectNothingLost(deployment(), load);
});

test('mirrors a text and a call that are told a week late', async () => {
  const { service, hooks } = deployment();
  const then = new Date(Date.now() - weekMs).toISOString();
  const [line] = await service.read('/sms/lines');
  const text = 'pelican, a week ago';
  const made = await service.sms({
    line: String(line?.number),
    number: '19175554001',
    text,
    sentAt: then,
    announce: false,
  });
  const call = await service.call({ startTime: then, announce: false, transcriptAfterMs: null, recordingAfterMs: 0 });
  const sender = createSender(hooks, createRandom('a week late'));
  await sender.insist('AccountSMS', JSON.stringify(received(made, text)));
  await sender.insist('AccountEndedCalls', JSON.stringify({ callId: call.id, webhookType: 'AccountEndedCalls' }));
  await expectNothingLost(deployment(), {
    threads: [made],
    callIds: [call.id],
    accepted: async () => [`AccountSMS ${made.id}`, `AccountEndedCalls ${call.id}`],
  });
});

test('goes on accepting while hundreds of senders never finish, and cuts them off', async ({ onTestFinished }) => {
  const load = await startLoad(deployment(), createRandom('slow loris'), onTestFinished);
  const address = new URL(deployment().hooks('AccountSMS')[0] as string);
  const sockets: Socket[] = [];
  let open = 0;
  for (let at = 0; at < 200; at += 1) {
    const socket = connect(Number(address.port), address.hostname);
    sockets.push(socket);
    open += 1;
    socket
      .on('error', () => undefined)
      .on('close', () => {
        open -= 1;
      });
    socket.resume().write(`POST ${address.pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n{`);
  }
  const trickle = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(' ');
  }, 400);
  onTestFinished(() => {
    clearInterval(trickle);
    for (const socket of sockets) socket.destroy();
  });
  await load.isAccepted(100);
  await vi.waitUntil(() => open === 0, { timeout: 30_000, interval: 100 });
  await load.finish();
  await expectNothingLost(deployment(), load);
});
