import { z } from 'zod';
import type { Call } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Context } from '../context.ts';
import { invalidRequest } from '../http/errors.ts';
import { requireNumber } from '../phone-number.ts';
import { inventedTranscripts, transcriptsOf } from '../resources/artefacts.ts';
import { uniqueIdOf } from '../resources/calls.ts';
import { inventCall, outsideNumber, placeCall } from '../seed/calls.ts';
import type { Customer } from '../seed/customers.ts';
import { endedCallPayload, liveCallPayload, transcriptionPayload } from '../webhooks/payloads.ts';

/** An ended call to provoke; what is not given is invented. */
export const callEvent = z.strictObject({
  direction: z.enum(['inbound', 'outbound', 'internal']).optional(),
  status: z.enum(['answered', 'missed', 'voicemail', 'unknown']).optional(),
  /** Whether the caller of a missed call gave up before anyone answered. */
  abandoned: z.boolean().optional(),
  /** The outside party. */
  number: z.string().optional(),
  callerName: z.string().optional(),
  /** Name or number of the queue or huntgroup that an inbound call reaches. */
  group: z.string().optional(),
  startTime: z.iso.datetime({ offset: true }).optional(),
  durationSeconds: z.int().min(0).max(86_400).optional(),
  recorded: z.boolean().optional(),
  transfers: z.int().min(0).max(5).optional(),
  /** Milliseconds from now until the recordings can be read. */
  recordingAfterMs: z.int().min(0).optional(),
  /** Milliseconds from now until the transcripts can be read; null for never. */
  transcriptAfterMs: z.int().min(0).nullable().optional(),
  /** False: no webhook tells of it. */
  announce: z.boolean().default(true),
});
export type CallEvent = z.input<typeof callEvent>;
export type CallWishes = z.output<typeof callEvent>;

export interface CallMade {
  id: string;
  startTime: string;
  status: Call['status'];
  recorded: boolean;
  legs: string[];
  /** Legs whose recordings will be there. */
  recordings: string[];
  transcriptIds: number[];
}

export type CallWorld = Pick<
  Context,
  'store' | 'directory' | 'random' | 'now' | 'announce' | 'timers' | 'links' | 'faults'
>;

/** Puts an ended call into the history, tells the subscribers, and lets recording and transcript follow. */
export function provokeCall(world: CallWorld, wishes: CallWishes): CallMade {
  const call = conceiveCall(world, wishes);
  const { recorded } = endCall(world, call, wishes);
  if (wishes.announce) world.announce('AccountRealTimeCalls', liveCallPayload(call, 'ended'));
  const expected = recorded && wishes.transcriptAfterMs !== null ? inventedTranscripts(call) : [];
  return {
    id: call.id,
    startTime: new Date(call.start * 1000).toISOString(),
    status: call.status,
    recorded,
    legs: call.legs.map((leg) => uniqueIdOf(call, leg)),
    recordings: call.legs.filter((leg) => leg.recorded).map((leg) => uniqueIdOf(call, leg)),
    transcriptIds: expected.map((transcript) => transcript.id),
  };
}

/** A call that is not in the history yet; without a start it ends now. */
export function conceiveCall(world: CallWorld, wishes: CallWishes): Call {
  const { store, directory, random, now } = world;
  const customer = customerOf(world, wishes);
  const draft = inventCall(random, directory, {
    kind: wishes.direction,
    status: wishes.status,
    abandoned: wishes.abandoned,
    customer,
    group: groupOf(world, wishes.group),
    durationSeconds: wishes.durationSeconds,
    transfers: wishes.transfers,
    recorded: wishes.recorded,
  });
  const start =
    wishes.startTime === undefined
      ? Math.floor(now().getTime() / 1000) - draft.duration
      : Math.floor(Date.parse(wishes.startTime) / 1000);
  const number = draft.direction === 'inbound' ? outsideNumber(draft) : '';
  const recent = store.calls.between(start - assumptions.repeatWindowSeconds, start);
  const repeated = number === '' ? 0 : recent.filter((other) => other.caller.number === number).length;
  return placeCall(draft, start, store.calls.reserve(draft.legs.length), repeated);
}

/** Hang-up: the call enters the history, and what follows it is set in motion. */
export function endCall(
  world: CallWorld,
  conceived: Call,
  wishes: Pick<CallWishes, 'recordingAfterMs' | 'transcriptAfterMs' | 'announce'>,
): Call {
  const { store, random, now, faults, announce, links, timers } = world;
  const { recordingDelayMs, transcriptDelayMs } = faults.current();
  const at = now().getTime();
  const recordingAfterMs = (wishes.recordingAfterMs ?? draw(world, assumptions.recordingAfterMs)) + recordingDelayMs;
  const usualMs = random.int(assumptions.transcriptAfterMs.min, assumptions.transcriptAfterMs.max);
  const transcriptAfterMs =
    wishes.transcriptAfterMs === null ? null : (wishes.transcriptAfterMs ?? usualMs) + transcriptDelayMs;

  const call = store.calls.put({
    ...conceived,
    recordingsAt: conceived.recorded ? at + recordingAfterMs : null,
    transcriptsAt: conceived.recorded && transcriptAfterMs !== null ? at + transcriptAfterMs : null,
  }) as Call;
  creditCallBack(world, call);
  if (!wishes.announce) return call;

  announce('AccountEndedCalls', endedCallPayload(call, links, 'AccountEndedCalls'));
  if (call.legs.some((leg) => leg.to.userId !== undefined || leg.from.userId !== undefined)) {
    announce('UserEndedCalls', endedCallPayload(call, links, 'UserEndedCalls'));
  }
  if (call.transcriptsAt !== null) {
    // A little later than readable, so that no reader is called before there is something to read.
    timers.after(call.transcriptsAt - at + 20, () => announceTranscripts(world, call.id));
  }
  return call;
}

export function announceTranscripts(world: Pick<CallWorld, 'store' | 'announce' | 'now'>, callId: string): void {
  const call = world.store.calls.get(callId);
  if (call === undefined) return;
  for (const transcript of transcriptsOf(call, world.now().getTime())) {
    world.announce('AccountAITranscription', transcriptionPayload(callId, transcript.id));
  }
}

/** An answered call to someone whose call was abandoned returns that call (2.9). */
function creditCallBack(world: CallWorld, call: Call): void {
  if (call.direction !== 'outbound' || call.internal || call.status !== 'answered') return;
  const number = outsideNumber(call);
  const abandoned = world.store.calls
    .between(call.start - assumptions.repeatWindowSeconds, call.start)
    .findLast((other) => other.abandoned && other.calledBack === undefined && other.caller.number === number);
  if (abandoned !== undefined) world.store.calls.put({ ...abandoned, calledBack: call.id });
}

function customerOf({ directory, random }: CallWorld, wishes: CallWishes): Customer {
  if (wishes.number === undefined) return { ...random.pick(directory.customers), ...nameOf(wishes) };
  const number = requireNumber(wishes.number, 'number');
  const known = directory.customers.find((customer) => customer.number === number);
  return { ...(known ?? { number, name: 'WIRELESS CALLER', language: 'en' }), ...nameOf(wishes) };
}

function nameOf(wishes: CallWishes): { name?: string } {
  return wishes.callerName === undefined ? {} : { name: wishes.callerName };
}

function groupOf({ directory }: CallWorld, group: string | undefined): string | undefined {
  if (group === undefined) return undefined;
  const names = directory.groups.map(({ endpoint }) => endpoint.name);
  const isKnown = directory.groups.some(({ endpoint }) => endpoint.name === group || endpoint.number === group);
  if (!isKnown) throw invalidRequest(`group must be one of ${names.join(', ')} or its number, got ${group}`);
  return group;
}

function draw({ random }: CallWorld, range: { min: number; max: number }): number {
  return random.int(range.min, range.max);
}
