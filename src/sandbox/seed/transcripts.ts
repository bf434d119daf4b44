import type { Call, Leg, Segment, Transcript } from '../account.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';
import { fillers, type Plot, plots } from './plots.ts';

/** What a call was about, before anyone reads its transcripts. */
export function plotOf(call: Call): Plot {
  return plots[call.script % plots.length] as Plot;
}

/** Whether a leg's summary was made. It has a seed of its own, so that a search can ask it of many calls at little cost. */
export function isSummarized(call: Call, leg: Leg): boolean {
  return createRandom(deriveSeed(call.script, `summary ${leg.sequence}`)).chance(0.92);
}

/** What was said on one recorded leg; always the same for the same call. */
export function inventTranscript(call: Call, leg: Leg, uniqueId: string): Transcript {
  const plot = plotOf(call);
  const random = createRandom(deriveSeed(call.script, String(leg.sequence)));
  const agent = leg.to.type === 'user' ? leg.to : leg.from;
  // Diarization numbers speakers in the order it hears them, which tells nothing about who they are.
  const agentSpeaker = random.int(0, 1);
  const segments = random.chance(0.03) ? [] : conversation(random, plot, leg.talkSeconds, agentSpeaker);
  const hasSummary = isSummarized(call, leg);
  const isScored = random.chance(0.8);
  const isKnownAgent = random.chance(0.9);
  return {
    id: leg.sequence,
    callId: call.id,
    recording: recordingFile(leg, uniqueId),
    segments,
    ...(hasSummary ? { shortSummary: plot.summary } : {}),
    bulletPoints: hasSummary ? [...plot.points] : [],
    ...(hasSummary ? { callPurpose: plot.purpose, callSentiment: plot.sentiment } : {}),
    ...(isScored ? scores(random, plot) : {}),
    actionRequired: plot.action !== undefined,
    ...(plot.action === undefined ? {} : { actionRequiredNote: plot.action }),
    urgentActionRequired: plot.isUrgent,
    ...(plot.isUrgent ? { urgentActionRequiredNote: 'Call back today.' } : {}),
    ...(isKnownAgent ? { agentName: agent.name, ...(segments.length > 0 && { agentSpeaker }) } : {}),
    customKpis: [
      { name: 'Greeting used', value: random.int(0, 1), note: 'Company name and own name within the first sentence.' },
      { name: 'Upsell offered', ...(random.chance(0.5) ? { value: random.int(0, 10) } : {}), note: '' },
    ],
  };
}

/** The file name holds the leg's unique id without its dot (2.11). */
function recordingFile(leg: Leg, uniqueId: string): string {
  return `rec-${leg.from.number}-${leg.to.number}-${uniqueId.replace('.', '')}.wav`;
}

function scores(random: Random, plot: Plot): Partial<Transcript> {
  const base = { positive: 8, neutral: 6, negative: 3 }[plot.sentiment];
  return {
    customerSatisfactionScore: base + random.int(0, 2),
    customerSatisfactionScoreNote: `The caller sounded ${plot.sentiment} at the end of the call.`,
    agentPerformanceScore: random.int(5, 10),
    agentPerformanceScoreNote: 'Stayed on the subject and confirmed the next step.',
  };
}

function conversation(random: Random, plot: Plot, seconds: number, agentSpeaker: number): Segment[] {
  const segments: Segment[] = [];
  let clock = random.next();
  for (let turn = 0; clock < seconds - 1; turn++) {
    const line = plot.turns[turn] ?? random.pick(fillers);
    const start = round(clock);
    clock += 1 + line.length / 14 + random.next();
    const speaker = turn % 2 === 0 ? agentSpeaker : 1 - agentSpeaker;
    segments.push({ start, end: round(Math.min(clock, seconds)), speaker, text: line });
    clock += turn < plot.turns.length ? random.next() * 1.5 : random.next() * 12;
  }
  return segments;
}

function round(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
