import { z } from 'zod';

/** The entities of the account as the sandbox stores them. `api/` renders them in the format of the specification. */

/** Deliveries have local times in this zone. */
export const accountTimeZone = 'America/New_York';

export const eventTypes = [
  'AccountRealTimeCalls',
  'AccountEndedCalls',
  'UserEndedCalls',
  'AccountSMS',
  'AccountAITranscription',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Section 2.8, stored as rendered. */
export const userSchema = z
  .object({
    id: z.int(),
    username: z.string().describe('Empty for a user without portal access.'),
    firstName: z.string(),
    lastName: z.string(),
    title: z.string(),
    email: z.string(),
    mobile: z.string().describe('Personal number; may be blank.'),
    company: z.string(),
    timeZone: z.string().describe('IANA zone.'),
    extension: z.string().describe('Dial-by-name extension.'),
    extensions: z.array(z.string()),
    lines: z.array(z.string()).describe('SIP lines.'),
    numbers: z.array(z.string()).describe('Account DIDs.'),
    voicemails: z.array(z.string()),
  })
  .meta({ id: 'User' });
export type User = z.output<typeof userSchema>;

/** Section 2.1, stored as rendered. */
export const lineSchema = z
  .object({
    number: z.string().describe('Digits, in the exact format of `from` when sending.'),
    name: z.string().describe('Caller-ID name; empty if none.'),
    userIds: z.array(z.int()).describe('Users the line is assigned to; empty means all users.'),
    bulkEnabled: z.boolean().describe('Registered for 10DLC bulk traffic.'),
  })
  .meta({ id: 'Line' });
export type Line = z.output<typeof lineSchema>;

export interface Message {
  id: number;
  line: string;
  /** The other party; in a group thread the first of its participants. */
  number: string;
  /** All other parties of a group thread, sorted; empty in other threads. */
  participants: string[];
  direction: 'in' | 'out';
  from: string;
  text: string;
  /** File names. Answers contain signed links. */
  media: string[];
  /** Milliseconds since the epoch. */
  sentAt: number;
  readBy: number[];
  /** Marked read with an API key, which belongs to no user. */
  readByAccount: boolean;
  sentBy?: number;
  delivery?: { status: string; error: string; at: number };
  scheduledAt?: number;
  blockReason?: string;
}

export interface Endpoint {
  type: 'external' | 'ivr' | 'queue' | 'huntgroup' | 'user' | 'mailbox';
  name: string;
  number: string;
  userId?: number;
}

export interface Leg {
  from: Endpoint;
  to: Endpoint;
  /** The number after the dot of the leg's unique id. */
  sequence: number;
  /** Seconds after the start of the call. */
  offset: number;
  ringSeconds: number;
  talkSeconds: number;
  outcome: 'answer' | 'noanswer' | 'cancel' | 'busy';
  recorded: boolean;
  /** A transferred leg has a call id of its own (2.10). */
  transferred: boolean;
}

const callerTypes = 'external, user, queue, huntgroup; others appear.';

export const partyFields = {
  callerType: z.string().describe(callerTypes),
  callerName: z.string(),
  callerNumber: z.string().describe('An extension on an internal leg.'),
  calledType: z.string().describe(callerTypes),
  calledName: z.string(),
  calledNumber: z.string(),
};

/** Section 2.9, a row of call search, stored as rendered. */
export const callSummarySchema = z
  .object({
    id: z.string().describe('Unix timestamp, a dot, a sequence number. Keep it as text.'),
    direction: z.enum(['inbound', 'outbound']),
    status: z.enum(['answered', 'missed', 'voicemail', 'unknown']),
    statusCode: z.int().describe('-1 missed, 0 voicemail, otherwise the number of people who answered.'),
    ...partyFields,
    dialledNumber: z.string().describe('The dialled number; for inbound calls the DID.'),
    callerIdInternal: z.string(),
    callerIdExternal: z.string(),
    startTime: z.string(),
    endTime: z.string().optional().describe('Absent for a call without a recorded end.'),
    durationSeconds: z.int().describe('Includes enqueuing.'),
    talkTimeSeconds: z.int(),
    transferred: z.int().describe('Number of transfers.'),
    abandoned: z.boolean(),
    recorded: z.boolean(),
    calledBack: z.string().optional().describe('Id of the call that returned this one.'),
    repeated: z.int(),
  })
  .meta({ id: 'CallSummary' });
export type CallSummary = z.output<typeof callSummarySchema>;

export function partiesOf(caller: Endpoint, called: Endpoint) {
  return {
    callerType: caller.type,
    callerName: caller.name,
    callerNumber: caller.number,
    calledType: called.type,
    calledName: called.name,
    calledNumber: called.number,
  };
}

export interface Call extends CallSummary {
  /** Unix seconds; also the number before the dot of the id. */
  start: number;
  sequence: number;
  internal: boolean;
  caller: Endpoint;
  called: Endpoint;
  legs: Leg[];
  /** Milliseconds; the API lists the legs from then on. Absent: from the start. */
  legsAt?: number;
  /** Fields that the API shows otherwise; null leaves one out. */
  shown?: Record<string, unknown>;
  /** Transcripts are generated from this seed when read, so that 200,000 calls fit in memory. */
  transcriptSeed: number;
  /** Milliseconds; recordings are ready from then on. Null for never. */
  recordingsAt: number | null;
  transcriptsAt: number | null;
  /** Replaces the generated transcripts. */
  transcripts?: Transcript[];
}

export const segmentSchema = z.object({ start: z.number(), end: z.number(), speaker: z.int(), text: z.string() });
export type Segment = z.output<typeof segmentSchema>;

const score = z.int().optional().describe('Absent means not analyzed.');
const note = z.string().optional();

/** Section 2.11, stored as rendered. */
export const transcriptSchema = z
  .object({
    id: z.int(),
    callId: z.string(),
    recording: z.string().describe("Audio file name; embeds the leg's uniqueId without its dot."),
    segments: z.array(segmentSchema),
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
export type Transcript = z.output<typeof transcriptSchema>;

/** Section 2.12, stored as rendered. */
export const subscriptionSchema = z
  .object({
    id: z.int(),
    name: z.string(),
    description: z.string(),
    url: z.string().describe('Delivery address; http or https.'),
    type: z.enum(eventTypes),
    enabled: z.boolean(),
    createdAt: z.string(),
    updatedAt: z.string(),
  })
  .meta({ id: 'Subscription' });
export type Subscription = z.output<typeof subscriptionSchema>;

export const scopes = [
  'webhooks:read',
  'webhooks:write',
  'reports:read',
  'users:read',
  'sms:read',
  'sms:write',
  'sms:send',
  'recordings:read',
  'messages:read',
  'messages:write',
] as const;
export type Scope = (typeof scopes)[number];

export interface ApiKey {
  key: string;
  name: string;
  scopes: Scope[];
}

/** The portal permissions of a user (5.2). They limit the user's OAuth tokens, not API keys. */
export const roleSchema = z.strictObject({
  users: z
    .union([z.literal('all'), z.array(z.int()), z.null()])
    .describe('Users that this user sees beside itself; null removes the permission.'),
  phoneNumbers: z.boolean().describe("The user's lines and unassigned lines (2.1)."),
  callReports: z.boolean(),
  allowRecordings: z.boolean().describe('Counts only together with callReports.'),
});
export type Role = z.output<typeof roleSchema> & { userId: number };

/** A registered client (5.3). */
export interface OAuthClient {
  clientId: string;
  name: string;
  redirectUris: string[];
  createdAt: number;
}

/** One user's approval of one client. All its tokens have its id, so that they can be revoked together. */
export interface Grant {
  grantId: string;
  clientId: string;
  userId: number;
  scopes: Scope[];
}

/** Works once, soon after the approval; times in milliseconds. */
export interface AuthorizationCode extends Grant {
  code: string;
  redirectUri: string;
  challenge: string;
  expiresAt: number;
  /** The client presented it, successfully or not. A second use revokes the grant. */
  isUsed: boolean;
}

export interface AccessToken extends Grant {
  token: string;
  expiresAt: number;
}

/** Works once: each use replaces it (5.3). */
export interface RefreshToken extends Grant {
  token: string;
}

const micros = z.int().min(0).max(1_000_000_000);
const rateSchema = z.strictObject({
  prefix: z.string().regex(/^\d{1,6}$/, 'must be the first digits of a number'),
  smsMicros: micros.describe('Micro-dollars for each segment.'),
  mmsMicros: micros.describe('Micro-dollars for a whole mms.'),
});
/** Rates of a number prefix (2.4). */
export type Rate = z.output<typeof rateSchema>;

/** Settings of the account's owner and of the service's operator. */
export const settingsSchema = z.strictObject({
  restrictDeletingSms: z.boolean().describe('Deletes answer 403 (4.2).'),
  sensitiveContent: z.boolean().describe('Recordings answer 403 to every credential (5.2).'),
  rates: z.array(rateSchema).max(500).describe('A destination without one answers 422 (section 7).'),
  redirectHosts: z
    .array(z.string().regex(/^[a-z0-9.[\]:-]{1,253}$/, 'must be a host in small letters, without port'))
    .describe('Allowed hosts of redirect URIs (5.3).'),
  plainLoopbackRedirects: z.boolean().describe('Redirects to the loopback address may do without TLS, against 5.3.'),
  accessTokenSeconds: z.int().min(0).max(31_536_000).describe('Lifetime of new access tokens (5.3).'),
});
export type AccountSettings = z.output<typeof settingsSchema>;

export const defaultSettings: AccountSettings = {
  restrictDeletingSms: false,
  sensitiveContent: false,
  rates: [
    { prefix: '1', smsMicros: 10_000, mmsMicros: 30_000 },
    { prefix: '44', smsMicros: 45_000, mmsMicros: 90_000 },
  ],
  redirectHosts: ['localhost', '127.0.0.1', 'example.com', 'app.example.com'],
  plainLoopbackRedirects: false,
  accessTokenSeconds: 3600,
};

/** An internal note, never sent to the other party (4.2). */
export interface Note {
  /** Absent when an integration wrote it. */
  by?: number;
  text: string;
  at: string;
}

/** Section 2.5: the part of a conversation's state that answers show. */
export const conversationStateSchema = z
  .object({
    line: z.string(),
    number: z.string(),
    resolved: z.boolean().describe('After the call.'),
    resolvedBy: z.int().optional().describe('Absent when an integration resolved it without naming a user.'),
    resolvedAt: z.string().optional().describe('Absent when not resolved.'),
  })
  .meta({ id: 'ConversationState' });

/** State of the conversation between a line and a number. Resolving and assigning are independent. */
export interface ConversationState extends z.output<typeof conversationStateSchema> {
  assignedTo?: number;
  notes: Note[];
}

/** Section 2.7, stored as rendered. */
export const blockedSenderSchema = z
  .object({
    line: z.string(),
    number: z.string(),
    reason: z.string().describe('Never shown to the blocked party.'),
    blockedAt: z.string(),
  })
  .meta({ id: 'BlockedSender' });
export type BlockedSender = z.output<typeof blockedSenderSchema>;

/** The number replied STOP to the line, and not START since. */
export interface OptOut {
  line: string;
  number: string;
  at: number;
}

/** Section 2.7, stored as rendered. */
export const draftSchema = z.object({ draftId: z.string(), message: z.string() }).meta({ id: 'Draft' });
export type Draft = z.output<typeof draftSchema>;

/** Section 2.7. */
export const templateSchema = z.object({ id: z.int(), title: z.string(), body: z.string() }).meta({ id: 'Template' });
/** A template with the user who saved it. */
export type Template = z.output<typeof templateSchema> & { userId: number };

/** An attachment; the extension of `file` decides the content type (2.2). */
export interface HostedFile {
  file: string;
  contentType: string;
  /** Base64. */
  content: string;
}

/** One charged send, as an invoice would show it. */
export interface Charge {
  id: number;
  /** RFC 3339, to the millisecond. */
  at: string;
  /** Name of the credential. */
  key: string;
  from: string;
  to: string[];
  type: 'sms' | 'mms';
  units: number;
  /** Micro-dollars. */
  totalMicros: number;
  /** The sent message, also when the gateway returned no id. */
  messageIds: number[];
}
