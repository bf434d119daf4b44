import type { CallMade, SmsMade } from '../../../src/sandbox/traffic/events.ts';
import type { FaultyService } from '../deployment/service.ts';
import type { Random } from '../random.ts';
import { type DeliveredType, deliveryKey, type ThreadName } from './keys.ts';

/** A word that stands in every text of the load, and so may stand nowhere outside the warehouse. */
export const textMark = 'pelican';

/** Where things happen. */
export interface Scene {
  readonly service: FaultyService;
  readonly random: Random;
  readonly lines: readonly string[];
}

/** One thing that happened at the service. */
export interface Happening {
  readonly thread?: ThreadName;
  readonly callId?: string;
  /** Keys of the deliveries that the service itself will make of it. */
  readonly announced: readonly string[];
  /** Deliveries that are ours to make, since the service was told not to. */
  readonly toDeliver: readonly { readonly type: DeliveredType; readonly body: string }[];
}

/** Few parties, so that many texts meet in one thread. */
const parties = Array.from({ length: 6 }, (_, at) => `1917555${String(2_000 + at * 37)}`);

/** Lets one thing happen: mostly texts, often calls with recordings and transcripts. */
export async function happen(scene: Scene, at: number): Promise<Happening> {
  const chance = scene.random.next();
  if (chance < 0.45) return text(scene, at, true);
  if (chance < 0.6) return text(scene, at, false);
  if (chance < 0.68) return groupText(scene, at);
  if (chance < 0.76) return reply(scene, at);
  return call(scene, chance < 0.9);
}

async function text({ service, random, lines }: Scene, at: number, announce: boolean): Promise<Happening> {
  const message = `${textMark} ${at}: is the boiler still leaking?`;
  const media = random.next() < 0.15 ? [`photo-${at}.jpg`] : [];
  const made = await service.sms({
    line: random.pick(lines),
    number: random.pick(parties),
    text: message,
    media,
    announce,
  });
  const body = JSON.stringify(received(made, message));
  const toDeliver = announce ? [] : [{ type: 'AccountSMS' as const, body }];
  return { thread: threadOf(made), announced: announce ? [`AccountSMS ${made.id}`] : [], toDeliver };
}

async function groupText({ service, random, lines }: Scene, at: number): Promise<Happening> {
  const participants = parties.slice(0, random.between(2, 3));
  const made = await service.sms({ line: random.pick(lines), participants, text: `${textMark} ${at} to all of you` });
  return { thread: threadOf(made), announced: [`AccountSMS ${made.id}`], toDeliver: [] };
}

/** An outgoing text, of which the carrier's receipt tells a second time. */
async function reply({ service, random, lines }: Scene, at: number): Promise<Happening> {
  const isReceipted = random.next() < 0.5;
  const made = await service.sms({
    line: random.pick(lines),
    number: random.pick(parties),
    direction: 'out',
    text: `${textMark} ${at}: we are on our way`,
    delivery: isReceipted ? 'delivered' : null,
  });
  const key = `AccountSMS ${made.id}`;
  return { thread: threadOf(made), announced: isReceipted ? [key, key] : [key], toDeliver: [] };
}

/** An answered call is recorded at once and transcribed soon; the transcripts are announced by the service. */
async function call({ service, random }: Scene, isAnswered: boolean): Promise<Happening> {
  const made = await service.call({
    direction: 'inbound',
    status: isAnswered ? 'answered' : random.pick(['missed', 'voicemail']),
    number: `1646555${random.between(1_000, 9_999)}`,
    durationSeconds: random.between(60, 300),
    transfers: random.between(0, 1),
    recorded: isAnswered,
    recordingAfterMs: 0,
    transcriptAfterMs: random.between(0, 1_500),
  });
  return {
    callId: made.id,
    announced: [`AccountEndedCalls ${made.id}`, ...transcriptsOf(made)],
    toDeliver: [
      { type: 'AccountEndedCalls', body: JSON.stringify({ callId: made.id, webhookType: 'AccountEndedCalls' }) },
    ],
  };
}

function transcriptsOf({ id: callId, transcriptIds }: CallMade): string[] {
  return transcriptIds.map((transcriptId) =>
    deliveryKey('AccountAITranscription', JSON.stringify({ callId, transcriptId })),
  );
}

/** A text as a delivery tells of it. */
export function received({ id, line, number }: SmsMade, message: string): object {
  return { id, direction: 'received', fromNumber: number, toNumber: line, message, webhookType: 'AccountSMS' };
}

function threadOf({ line, number, participants }: SmsMade): ThreadName {
  return { line, number, participants };
}
