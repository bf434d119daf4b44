import type { Call, Leg, Segment, Transcript } from '../account.ts';
import { createRandom, deriveSeed, type Random } from '../random.ts';

/** The content of a call. The agent speaks first, then both alternate. */
interface CallTemplate {
  purpose: string;
  sentiment: 'positive' | 'neutral' | 'negative';
  summary: string;
  points: readonly string[];
  action?: string;
  isUrgent: boolean;
  turns: readonly string[];
}

export const callTemplates: readonly CallTemplate[] = [
  {
    purpose: 'New appointment',
    sentiment: 'positive',
    summary: 'The customer booked a boiler inspection for Thursday morning.',
    points: ['Annual boiler inspection', 'Thursday between 8 and 10', 'Access through the side door'],
    isUrgent: false,
    turns: [
      'Brightwater, this is the front desk, how can I help?',
      'Hi, I would like to get my boiler inspected before the winter.',
      'Sure. We have Thursday morning, or Friday after two.',
      'Thursday works, the earlier the better.',
      'Then I put you down for eight to ten. Is there parking?',
      'Yes, and please come through the side door.',
    ],
  },
  {
    purpose: 'Billing question',
    sentiment: 'neutral',
    summary: 'The customer asked about a line on the invoice; the agent explained the weekend surcharge.',
    points: ['Invoice of last month', 'Weekend surcharge explained', 'Copy sent by e-mail'],
    action: 'Send a copy of the invoice by e-mail.',
    isUrgent: false,
    turns: [
      'Brightwater billing, good afternoon.',
      'I have an invoice here and there is a line that I do not understand.',
      'Let me open it. Is it the one about the weekend visit?',
      'Yes, there is a surcharge of forty-five dollars.',
      'That applies to visits on Sunday. I can send you the price list.',
      'Please do, and a copy of the invoice as well.',
    ],
  },
  {
    purpose: 'Emergency repair',
    sentiment: 'negative',
    summary: 'A pipe burst in the basement; a technician was sent at once.',
    points: ['Burst pipe, water on the floor', 'Main valve closed by the caller', 'Technician on the way'],
    action: 'Confirm that the technician arrived.',
    isUrgent: true,
    turns: [
      'Brightwater service, what is happening?',
      'There is water all over my basement, a pipe must have burst.',
      'Do you know where the main valve is? Please close it first.',
      'Wait. It is closed now, but there is so much water.',
      'Someone is twelve minutes away from you. Stay out of the basement until then.',
      'Please hurry.',
    ],
  },
  {
    purpose: 'Complaint',
    sentiment: 'negative',
    summary: 'The technician did not come in the agreed window; the customer wants a discount.',
    points: ['Missed appointment', 'Second time this year', 'Discount requested'],
    action: 'Service manager to call back about the discount.',
    isUrgent: true,
    turns: [
      'Brightwater service, good morning.',
      'I waited the whole day yesterday and nobody came.',
      'I am sorry. I see that the visit was moved; were you not told?',
      'No, and it is the second time. I want something off the bill.',
      'I will have the service manager call you today.',
      'I hope so, or I will look for another company.',
    ],
  },
];

/** Phrases for the rest of a call that is longer than its template. */
const fillers: readonly string[] = [
  'Okay, let me write that down.',
  'One moment please, the system is slow today.',
  'Is there anything else?',
  'No, I think that is all.',
  'How is the new water heater doing?',
  'Very well, no complaints so far.',
];

/** The template of a call's transcripts. */
export function callTemplateOf(call: Call): CallTemplate {
  return callTemplates[call.transcriptSeed % callTemplates.length] as CallTemplate;
}

/** Whether a leg has a summary. It has a separate seed, so that a search need not generate the transcripts. */
export function isSummarized(call: Call, leg: Leg): boolean {
  return createRandom(deriveSeed(call.transcriptSeed, `summary ${leg.sequence}`)).chance(0.92);
}

/** The transcript of one recorded leg, always the same for the same call. */
export function generateTranscript(call: Call, leg: Leg, uniqueId: string): Transcript {
  const template = callTemplateOf(call);
  const random = createRandom(deriveSeed(call.transcriptSeed, String(leg.sequence)));
  const agent = leg.to.type === 'user' ? leg.to : leg.from;
  // Speaker numbers don't show who the agent is.
  const agentSpeaker = random.int(0, 1);
  const segments = random.chance(0.03) ? [] : conversation(random, template, leg.talkSeconds, agentSpeaker);
  const hasSummary = isSummarized(call, leg);
  const isScored = random.chance(0.8);
  const isKnownAgent = random.chance(0.9);
  return {
    id: leg.sequence,
    callId: call.id,
    recording: recordingFile(leg, uniqueId),
    segments,
    ...(hasSummary ? { shortSummary: template.summary } : {}),
    bulletPoints: hasSummary ? [...template.points] : [],
    ...(hasSummary ? { callPurpose: template.purpose, callSentiment: template.sentiment } : {}),
    ...(isScored ? scores(random, template) : {}),
    actionRequired: template.action !== undefined,
    ...(template.action === undefined ? {} : { actionRequiredNote: template.action }),
    urgentActionRequired: template.isUrgent,
    ...(template.isUrgent ? { urgentActionRequiredNote: 'Call back today.' } : {}),
    ...(isKnownAgent ? { agentName: agent.name, ...(segments.length > 0 && { agentSpeaker }) } : {}),
    customKpis: [
      { name: 'Greeting used', value: random.int(0, 1), note: 'Company name and own name within the first sentence.' },
      { name: 'Upsell offered', ...(random.chance(0.5) ? { value: random.int(0, 10) } : {}), note: '' },
    ],
  };
}

/** The file name contains the leg's unique id without its dot (2.11). */
function recordingFile(leg: Leg, uniqueId: string): string {
  return `rec-${leg.from.number}-${leg.to.number}-${uniqueId.replace('.', '')}.wav`;
}

function scores(random: Random, template: CallTemplate): Partial<Transcript> {
  const base = { positive: 8, neutral: 6, negative: 3 }[template.sentiment];
  return {
    customerSatisfactionScore: base + random.int(0, 2),
    customerSatisfactionScoreNote: `The caller sounded ${template.sentiment} at the end of the call.`,
    agentPerformanceScore: random.int(5, 10),
    agentPerformanceScoreNote: 'Stayed on the subject and confirmed the next step.',
  };
}

function conversation(random: Random, template: CallTemplate, seconds: number, agentSpeaker: number): Segment[] {
  const segments: Segment[] = [];
  let clock = random.next();
  for (let turn = 0; clock < seconds - 1; turn++) {
    const line = template.turns[turn] ?? random.pick(fillers);
    const start = round(clock);
    clock += 1 + line.length / 14 + random.next();
    const speaker = turn % 2 === 0 ? agentSpeaker : 1 - agentSpeaker;
    segments.push({ start, end: round(Math.min(clock, seconds)), speaker, text: line });
    clock += turn < template.turns.length ? random.next() * 1.5 : random.next() * 12;
  }
  return segments;
}

function round(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
