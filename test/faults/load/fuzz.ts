import type { Random } from '../random.ts';

/** A delivery that nobody would send. */
export interface Fuzzed {
  readonly type: string;
  readonly contentType: string;
  readonly body: Buffer;
}

export const contentTypes = [
  'application/json',
  'application/json; charset=latin1',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
];
const types = ['AccountSMS', 'AccountEndedCalls', 'AccountAITranscription', 'UserSMS', 'NoSuchType'];
/** What extraction looks for, so that mutations of it come near to being understood. */
const shapes = [
  '{"id":7,"direction":"received","fromNumber":"19175550000","toNumber":"18455550100","webhookType":"AccountSMS"}',
  '{"callId":"1700000000.1","webhookType":"AccountEndedCalls","cdrs":[{"uniqueId":"1700000000.2"}]}',
  '{"data":{"object":{"callId":1700000000.3,"transcriptId":4}}}',
  'callId=1700000000.5&webhookType=AccountEndedCalls&a[b][0]=1',
  '[{"id":1},{"callId":"1700000000.6"},null,[[]]]',
];
const pieces = [...'"{}[],:&=\n', '\\u0000', '\\ud800', 'null', '1e999', '-0', '__proto__', '%00'];

/** Noise, or a real shape with some of its bytes changed, doubled or gone. */
export function fuzzed(random: Random): Fuzzed {
  const body = random.next() < 0.3 ? noise(random) : mutated(random, Buffer.from(random.pick(shapes)));
  return { type: random.pick(types), contentType: random.pick(contentTypes), body };
}

export function noise(random: Random): Buffer {
  return Buffer.from(Array.from({ length: random.between(0, 4_000) }, () => random.between(0, 255)));
}

function mutated(random: Random, shape: Buffer): Buffer {
  let body = shape;
  for (let change = random.between(1, 6); change > 0; change -= 1) {
    const at = random.between(0, body.length);
    const until = Math.min(body.length, at + random.between(0, 12));
    const middle = random.pick([
      Buffer.alloc(0),
      Buffer.from(random.pick(pieces)),
      Buffer.concat([body.subarray(at, until), body.subarray(at, until)]),
      Buffer.from([random.between(0, 255)]),
    ]);
    body = Buffer.concat([body.subarray(0, at), middle, body.subarray(until)]);
  }
  return body;
}
