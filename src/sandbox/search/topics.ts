import type { Call, Transcript } from '../account.ts';
import { transcribedLegs } from '../resources/artefacts.ts';
import { plots } from '../seed/plots.ts';
import { isSummarized, plotOf } from '../seed/transcripts.ts';

export type Topic = Pick<Transcript, 'callPurpose' | 'callSentiment'>;

const topicOfPlot = new Map(
  plots.map((plot) => [plot, [{ callPurpose: plot.purpose, callSentiment: plot.sentiment }]]),
);

/** Purpose and sentiment of the transcripts of a call, finished or not, without inventing what was said. */
export function topicsOf(call: Call): readonly Topic[] {
  if (call.transcripts !== undefined) return call.transcripts;
  if (!call.recorded || !transcribedLegs(call).some((leg) => isSummarized(call, leg))) return [];
  return topicOfPlot.get(plotOf(call)) ?? [];
}
