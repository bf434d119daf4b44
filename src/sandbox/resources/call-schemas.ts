import { z } from 'zod';

const callerTypes = 'external, user, queue, huntgroup; others appear.';

const party = {
  callerType: z.string().describe(callerTypes),
  callerName: z.string(),
  callerNumber: z.string().describe('An extension on an internal leg.'),
  calledType: z.string().describe(callerTypes),
  calledName: z.string(),
  calledNumber: z.string(),
};

/** Section 2.9, a row of call search. */
export const callSummarySchema = z
  .object({
    id: z.string().describe('Unix timestamp, a dot, a sequence number. Keep it as text.'),
    direction: z.enum(['inbound', 'outbound']),
    status: z.enum(['answered', 'missed', 'voicemail', 'unknown']),
    statusCode: z.int().describe('-1 missed, 0 voicemail, from 1 on answered by so many people.'),
    ...party,
    dialledNumber: z.string().describe('What was dialled; for inbound, the DID.'),
    callerIdInternal: z.string(),
    callerIdExternal: z.string(),
    startTime: z.string(),
    endTime: z.string().optional().describe('Omitted for a call with no recorded end.'),
    durationSeconds: z.int().describe('Includes ringing.'),
    talkTimeSeconds: z.int(),
    transferred: z.int().describe('Number of transfers.'),
    abandoned: z.boolean(),
    recorded: z.boolean(),
    calledBack: z.string().optional().describe('Id of the call that returned this one.'),
    repeated: z.int(),
  })
  .meta({ id: 'CallSummary' });

/** The fields of a leg are not shown in full; these are assumed. */
const legSchema = z
  .object({
    uniqueId: z.string(),
    callId: z.string(),
    bridgedFromCallId: z.string().optional(),
    status: z.string(),
    ...party,
    startTime: z.string(),
    endTime: z.string().optional(),
    durationSeconds: z.int(),
    talkTimeSeconds: z.int(),
    recorded: z.boolean(),
  })
  .meta({ id: 'CallLeg' });

/** GET /calls/{callid}: the summary with its legs. */
export const callSchema = callSummarySchema.extend({ legs: z.array(legSchema) }).meta({ id: 'Call' });

/** Section 2.10. */
export const recordingSchema = z
  .object({
    uniqueId: z.string(),
    callId: z.string().describe('Can differ from the call asked for after a transfer.'),
    url: z.string().describe('Signed; good for whoever holds it.'),
    startTime: z.string(),
    durationSeconds: z.int(),
    talkTimeSeconds: z.int(),
    from: z.string(),
    to: z.string(),
  })
  .meta({ id: 'Recording' });

const score = z.int().optional().describe('Absent means not analyzed.');
const note = z.string().optional();

/** Section 2.11. */
export const transcriptSchema = z
  .object({
    id: z.int(),
    callId: z.string(),
    recording: z.string().describe("Audio file name; embeds the leg's uniqueId without its dot."),
    segments: z.array(z.object({ start: z.number(), end: z.number(), speaker: z.int(), text: z.string() })),
    shortSummary: note,
    bulletPoints: z.array(z.string()),
    callPurpose: note,
    callSentiment: note,
    customerSatisfactionScore: score,
    customerSatisfactionScoreNote: note,
    agentPerformanceScore: score,
    agentPerformanceScoreNote: note,
    actionRequired: z.boolean(),
    actionRequiredNote: note,
    urgentActionRequired: z.boolean(),
    urgentActionRequiredNote: note,
    agentName: note,
    agentSpeaker: z.int().optional().describe('Which speaker is the agent; absent when undetermined.'),
    customKpis: z.array(z.object({ name: z.string(), value: z.int().optional(), note: z.string() })),
  })
  .meta({ id: 'Transcript' });
