import type { z } from 'zod';
import type { Call, Leg, Transcript } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import { inventTranscript } from '../seed/transcripts.ts';
import type { recordingSchema } from './call-schemas.ts';
import { legCallId, uniqueIdOf } from './calls.ts';
import type { Links } from './links.ts';
import { rfc3339 } from './moments.ts';

/** The recordings that are written by now, one per recorded leg (2.10). */
export function recordingsOf(call: Call, now: number, links: Links): z.output<typeof recordingSchema>[] {
  if (call.recordingsAt === null || call.recordingsAt > now) return [];
  return call.legs
    .filter((leg) => leg.recorded)
    .map((leg) => ({
      uniqueId: uniqueIdOf(call, leg),
      callId: legCallId(call, leg),
      url: links.recording(uniqueIdOf(call, leg)),
      startTime: rfc3339((call.start + leg.offset) * 1000),
      durationSeconds: leg.ringSeconds + leg.talkSeconds,
      talkTimeSeconds: leg.talkSeconds,
      from: leg.from.number,
      to: leg.to.number,
    }));
}

/** The transcripts that are finished by now, one per recorded leg that is long enough (2.11). */
export function transcriptsOf(call: Call, now: number): Transcript[] {
  if (call.transcriptsAt === null || call.transcriptsAt > now) return [];
  return call.transcripts ?? inventedTranscripts(call);
}

/** What the transcripts of a call will be, whether finished or not. */
export function inventedTranscripts(call: Call): Transcript[] {
  return transcribedLegs(call).map((leg) => inventTranscript(call, leg, uniqueIdOf(call, leg)));
}

export function transcribedLegs(call: Call): Leg[] {
  return call.legs.filter((leg) => leg.recorded && leg.talkSeconds >= assumptions.shortestTranscriptSeconds);
}
