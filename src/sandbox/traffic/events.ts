import { z } from 'zod';
import { type Call, type Message, type Transcript, transcriptSchema } from '../account.ts';
import { generatedTranscripts, transcriptsOf, uniqueIdOf } from '../api/call-resource.ts';
import type { Context } from '../context.ts';
import { phoneNumber } from '../http/api.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import {
  callWishes,
  finalizeCall,
  generateCall,
  outsideNumber,
  repeatWindowSeconds,
  statusCodeOf,
} from '../seed/call-history.ts';
import type { Customer } from '../seed/directory.ts';
import { openers, replies } from '../seed/text-history.ts';
import { type CarrierDeps, receiveText, sendText } from '../sending/carrier.ts';
import { endedCallPayload, liveCallPayload, transcriptionPayload } from '../webhooks/payloads.ts';

/** After the hang-up; shorter than at the real service (4.6), so that a session at the sandbox sees it happen. */
const usualRecordingMs = { min: 2_000, max: 6_000 };
const usualTranscriptMs = { min: 6_000, max: 15_000 };

/** A simulated text. Missing fields are generated. */
export const smsEvent = z.strictObject({
  /** A line of the account. */
  line: phoneNumber.optional(),
  /** The other party; in a group the sender. */
  number: phoneNumber.optional(),
  /** All other parties of a group thread. */
  participants: z.array(phoneNumber).default([]),
  direction: z.enum(['in', 'out']).default('in'),
  text: z.string().optional(),
  /** File names. */
  media: z.array(z.string().min(1)).default([]),
  sentAt: z.iso.datetime({ offset: true }).optional(),
  /** A user's id; absent when an integration sent it. */
  sentBy: z.int().optional(),
  /** Status in the carrier's receipt for an outbound text; null for no receipt. */
  delivery: z.string().nullable().optional(),
  /** False: no webhook. */
  announce: z.boolean().default(true),
});
export type SmsEvent = z.input<typeof smsEvent>;

export interface SmsMade {
  id: number;
  line: string;
  number: string;
  participants: string[];
}

type TextDeps = CarrierDeps & Pick<Context, 'directory'>;

/** Receives or sends a text, with its webhooks and receipt. Throws a 400 for a field that the account doesn't know. */
export function simulateSms(deps: TextDeps, event: z.output<typeof smsEvent>): SmsMade {
  const { store, directory, random, now } = deps;
  const { line = random.pick(store.lines.values()).number } = event;
  if (store.lines.get(line) === undefined) {
    throw invalidRequest(`line must be an SMS line of the account, got ${line}`);
  }
  if (event.sentBy !== undefined && store.users.get(event.sentBy) === undefined) {
    throw invalidRequest(`sentBy must be a user of the account, got ${event.sentBy}`);
  }
  const participants = partiesOf(event.participants, event.number);
  const speaker = event.number ?? participants[0] ?? random.pick(directory.customers).number;

  const message: Message = {
    id: store.messages.nextId(),
    line,
    number: participants[0] ?? speaker,
    participants,
    direction: event.direction,
    from: event.direction === 'in' ? speaker : line,
    text: event.text ?? (event.media.length > 0 ? '' : random.pick(event.direction === 'in' ? openers : replies)),
    media: event.media,
    sentAt: event.sentAt === undefined ? now().getTime() : Date.parse(event.sentAt),
    readBy: event.sentBy === undefined ? [] : [event.sentBy],
    readByAccount: false,
    ...(event.sentBy === undefined ? {} : { sentBy: event.sentBy }),
  };
  if (event.direction === 'in') receiveText(deps, message, { announced: event.announce });
  else sendText(deps, message, { announced: event.announce, receipt: event.delivery });
  return { id: message.id, line, number: message.number, participants };
}

/** One party isn't a group. */
function partiesOf(participants: readonly string[], number: string | undefined): string[] {
  const distinct = [...new Set(number === undefined ? participants : [...participants, number])].sort();
  return distinct.length > 1 ? distinct : [];
}

/** A simulated call that has ended. Missing fields are generated. */
export const callEvent = callWishes.extend({
  /** The outside party. */
  number: phoneNumber.optional(),
  callerName: z.string().optional(),
  startTime: z.iso.datetime({ offset: true }).optional(),
  /** Milliseconds from now until the API lists the legs. */
  legsAfterMs: z.int().min(0).optional(),
  /** Fields of the call that the API shows otherwise; null leaves one out. */
  shown: z.record(z.string(), z.unknown()).optional(),
  /** A call of the history that changes and ends again: only its status, its recording and `shown` are taken. */
  callId: z.string().optional(),
  /** Milliseconds from now until the recordings can be read. */
  recordingAfterMs: z.int().min(0).optional(),
  /** Milliseconds from now until the transcripts can be read; null for never. */
  transcriptAfterMs: z.int().min(0).nullable().optional(),
  /** False: no webhook. */
  announce: z.boolean().default(true),
});
export type CallEvent = z.input<typeof callEvent>;
type CallOrder = z.output<typeof callEvent>;

export interface CallMade {
  id: string;
  startTime: string;
  status: Call['status'];
  recorded: boolean;
  legs: string[];
  /** Unique ids of the legs that get recordings. */
  recordings: string[];
  transcriptIds: number[];
}

export type CallDeps = Pick<Context, 'store' | 'directory' | 'random' | 'now' | 'announce' | 'timers' | 'links'>;

/** Adds an ended call to the history, with its webhooks, recordings and transcripts. */
export function simulateCall(deps: CallDeps, order: CallOrder): CallMade {
  const call = order.callId === undefined ? draftCall(deps, order) : changedCall(deps, order.callId, order);
  const { recorded } = endCall(deps, call, order);
  if (order.announce) deps.announce('AccountRealTimeCalls', liveCallPayload(call, 'ended'));
  const expected = recorded && order.transcriptAfterMs !== null ? generatedTranscripts(call) : [];
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

function changedCall({ store }: CallDeps, callId: string, { status, recorded, shown }: CallOrder): Call {
  const call = store.calls.get(callId);
  if (call === undefined) throw notFound(`the call ${callId}`);
  return {
    ...call,
    ...(status !== undefined && { status, statusCode: statusCodeOf(status, 1) }),
    recorded: recorded ?? call.recorded,
    ...((shown ?? call.shown) !== undefined && { shown: shown ?? call.shown }),
  };
}

/** A call that isn't in the history yet. Without a start time it ends now. */
export function draftCall(deps: CallDeps, order: CallOrder): Call {
  const { store, now } = deps;
  const options = { ...order, customer: customerOf(deps, order), group: groupOf(deps, order.group) };
  const draft = generateCall(deps, options);
  const start =
    order.startTime === undefined
      ? Math.floor(now().getTime() / 1000) - draft.durationSeconds
      : Math.floor(Date.parse(order.startTime) / 1000);
  const number = draft.direction === 'inbound' ? outsideNumber(draft) : '';
  const recent = store.calls.between(start - repeatWindowSeconds, start);
  const repeated = number === '' ? 0 : recent.filter((other) => other.caller.number === number).length;
  const call = finalizeCall(draft, start, store.calls.reserve(draft.legs.length), repeated);
  return {
    ...call,
    ...(order.legsAfterMs !== undefined && { legsAt: now().getTime() + order.legsAfterMs }),
    ...(order.shown !== undefined && { shown: order.shown }),
  };
}

/** Hang-up: adds the call to the history, announces it and schedules its transcripts. */
export function endCall(
  deps: CallDeps,
  draft: Call,
  order: Pick<CallOrder, 'recordingAfterMs' | 'transcriptAfterMs' | 'announce'>,
): Call {
  const { store, random, now, announce, links, timers } = deps;
  const at = now().getTime();
  const recordingAfterMs = order.recordingAfterMs ?? random.between(usualRecordingMs);
  const usualMs = random.between(usualTranscriptMs);
  const transcriptAfterMs = order.transcriptAfterMs === undefined ? usualMs : order.transcriptAfterMs;

  const call = store.calls.put({
    ...draft,
    recordingsAt: draft.recorded ? at + recordingAfterMs : null,
    transcriptsAt: draft.recorded && transcriptAfterMs !== null ? at + transcriptAfterMs : null,
  });
  linkCallBack(deps, call);
  if (!order.announce) return call;

  announce('AccountEndedCalls', endedCallPayload(call, links, 'AccountEndedCalls'));
  if (call.legs.some((leg) => leg.to.userId !== undefined || leg.from.userId !== undefined)) {
    announce('UserEndedCalls', endedCallPayload(call, links, 'UserEndedCalls'));
  }
  if (call.transcriptsAt !== null) {
    // Slightly after the transcripts become readable, so that no client reads too early.
    timers.after(call.transcriptsAt - at + 20, () => announceTranscripts(deps, call.id));
  }
  return call;
}

export function announceTranscripts(deps: Pick<CallDeps, 'store' | 'announce' | 'now'>, callId: string): void {
  const call = deps.store.calls.get(callId);
  if (call === undefined) return;
  for (const transcript of transcriptsOf(call, deps.now().getTime())) {
    deps.announce('AccountAITranscription', transcriptionPayload(callId, transcript.id));
  }
}

/** An answered outbound call returns the last abandoned call of that number (2.9). */
function linkCallBack(deps: CallDeps, call: Call): void {
  if (call.direction !== 'outbound' || call.internal || call.status !== 'answered') return;
  const number = outsideNumber(call);
  const abandoned = deps.store.calls
    .between(call.start - repeatWindowSeconds, call.start)
    .findLast((other) => other.abandoned && other.calledBack === undefined && other.caller.number === number);
  if (abandoned !== undefined) deps.store.calls.put({ ...abandoned, calledBack: call.id });
}

function customerOf({ directory, random }: CallDeps, { number, callerName }: CallOrder): Customer {
  const known = directory.customers.find((customer) => customer.number === number);
  const stranger: Customer = { number: number ?? '', name: 'WIRELESS CALLER', language: 'en' };
  const customer = number === undefined ? random.pick(directory.customers) : (known ?? stranger);
  return callerName === undefined ? customer : { ...customer, name: callerName };
}

function groupOf({ directory }: CallDeps, group: string | undefined): string | undefined {
  if (group === undefined) return undefined;
  const names = directory.groups.map(({ endpoint }) => endpoint.name);
  const isKnown = directory.groups.some(({ endpoint }) => endpoint.name === group || endpoint.number === group);
  if (!isKnown) throw invalidRequest(`group must be one of ${names.join(', ')} or its number, got ${group}`);
  return group;
}

/** A simulated transcript that is finished now. Given fields replace generated ones. */
export const transcriptEvent = z.strictObject({
  ...transcriptSchema.omit({ id: true, recording: true }).partial().shape,
  /** By default a new call. */
  callId: z.string().optional(),
  /** False: no webhook. */
  announce: z.boolean().default(true),
});
export type TranscriptEvent = z.input<typeof transcriptEvent>;

export interface TranscriptMade {
  callId: string;
  transcriptIds: number[];
}

/** Finishes the transcripts of a call and announces them. Throws a 404 for an unknown call. */
export function simulateTranscript(deps: CallDeps, event: z.output<typeof transcriptEvent>): TranscriptMade {
  const { callId, announce, ...changes } = event;
  const call = deps.store.calls.get(callId ?? callToTranscribe(deps));
  if (call === undefined) throw notFound(`the call ${callId}`);
  const transcripts = (call.transcripts ?? generatedTranscripts(call)).map((transcript) => change(transcript, changes));
  if (transcripts.length === 0) {
    throw invalidRequest(`the call ${call.id} has no recorded leg that is long enough for a transcript`);
  }
  const at = deps.now().getTime();
  deps.store.calls.put({
    ...call,
    recordingsAt: Math.min(call.recordingsAt ?? at, at),
    transcriptsAt: at,
    transcripts,
  });
  if (announce) announceTranscripts(deps, call.id);
  return { callId: call.id, transcriptIds: transcripts.map((transcript) => transcript.id) };
}

type Changes = Omit<z.output<typeof transcriptEvent>, 'callId' | 'announce'>;

function change(transcript: Transcript, changes: Changes): Transcript {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...transcript, ...Object.fromEntries(given) };
}

function callToTranscribe(deps: CallDeps): string {
  const order = { direction: 'inbound', status: 'answered', recorded: true, durationSeconds: 240 } as const;
  return simulateCall(deps, callEvent.parse({ ...order, transfers: 0, transcriptAfterMs: null })).id;
}
