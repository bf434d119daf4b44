import { z } from 'zod';
import type { Call, Transcript } from '../account.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { inventedTranscripts } from '../resources/artefacts.ts';
import { announceTranscripts, type CallWorld, callEvent, provokeCall } from './calls.ts';

/** A transcript to provoke: it is finished now, with whatever is given in place of what was invented. */
export const transcriptEvent = z.strictObject({
  /** Without it: the latest recorded call that still waits for its transcripts, else a call of its own. */
  callId: z.string().optional(),
  segments: z
    .array(z.strictObject({ start: z.number(), end: z.number(), speaker: z.int(), text: z.string() }))
    .optional(),
  shortSummary: z.string().optional(),
  callPurpose: z.string().optional(),
  callSentiment: z.string().optional(),
  customerSatisfactionScore: z.int().optional(),
  agentPerformanceScore: z.int().optional(),
  actionRequired: z.boolean().optional(),
  urgentActionRequired: z.boolean().optional(),
  /** False: no webhook tells of it. */
  announce: z.boolean().default(true),
});
export type TranscriptEvent = z.input<typeof transcriptEvent>;

export interface TranscriptMade {
  callId: string;
  transcriptIds: number[];
}

/** Finishes the transcripts of a call at once and tells the subscribers. */
export function provokeTranscript(world: CallWorld, event: z.output<typeof transcriptEvent>): TranscriptMade {
  const { callId, announce, ...changes } = event;
  const call = callId === undefined ? waitingCall(world) : world.store.calls.get(callId);
  if (call === undefined) throw notFound(`the call ${callId}`);
  const transcripts = (call.transcripts ?? inventedTranscripts(call)).map((transcript) => change(transcript, changes));
  if (transcripts.length === 0) {
    throw invalidRequest(`the call ${call.id} has no recorded leg that is long enough for a transcript`);
  }
  const at = world.now().getTime();
  world.store.calls.put({
    ...call,
    recordingsAt: Math.min(call.recordingsAt ?? at, at),
    transcriptsAt: at,
    transcripts,
  });
  if (announce) announceTranscripts(world, call.id);
  return { callId: call.id, transcriptIds: transcripts.map((transcript) => transcript.id) };
}

type Changes = Omit<z.output<typeof transcriptEvent>, 'callId' | 'announce'>;

function change(transcript: Transcript, changes: Changes): Transcript {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...transcript, ...Object.fromEntries(given) };
}

function waitingCall(world: CallWorld): Call | undefined {
  const now = world.now().getTime();
  const recent = world.store.calls.between(Math.floor(now / 1000) - 3_600, Math.floor(now / 1000));
  const waiting = recent.findLast(
    (call) => call.transcriptsAt !== null && call.transcriptsAt > now && inventedTranscripts(call).length > 0,
  );
  if (waiting !== undefined) return waiting;
  const wishes = { direction: 'inbound', status: 'answered', recorded: true, durationSeconds: 240 } as const;
  const made = provokeCall(world, callEvent.parse({ ...wishes, transfers: 0, transcriptAfterMs: null }));
  return world.store.calls.get(made.id);
}
