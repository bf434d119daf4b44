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
export interface User {
  id: number;
  /** Empty for a user without portal access. */
  username: string;
  firstName: string;
  lastName: string;
  title: string;
  email: string;
  /** Personal number; may be blank. */
  mobile: string;
  company: string;
  timeZone: string;
  /** Dial-by-name extension. */
  extension: string;
  extensions: string[];
  /** SIP lines. */
  lines: string[];
  numbers: string[];
  voicemails: string[];
}

/** Section 2.1, stored as rendered. */
export interface Line {
  /** Digits, in the exact format of `from` when sending. */
  number: string;
  /** Caller-ID name; empty if none. */
  name: string;
  /** Users the line is assigned to; empty means all users. */
  userIds: number[];
  /** Registered for 10DLC bulk traffic. */
  bulkEnabled: boolean;
}

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

/** The numbers of an internal leg are extensions. */
export const partyFields = {
  callerType: z.string(),
  callerName: z.string(),
  callerNumber: z.string(),
  calledType: z.string(),
  calledName: z.string(),
  calledNumber: z.string(),
};

/** Section 2.9, a row of call search, stored as rendered. */
export const callSummarySchema = z.object({
  id: z.string(),
  direction: z.enum(['inbound', 'outbound']),
  status: z.enum(['answered', 'missed', 'voicemail', 'unknown']),
  /** -1 missed, 0 voicemail, otherwise the number of people who answered. */
  statusCode: z.int(),
  ...partyFields,
  /** For inbound calls the DID. */
  dialledNumber: z.string(),
  callerIdInternal: z.string(),
  callerIdExternal: z.string(),
  startTime: z.string(),
  /** Absent for a call without a recorded end. */
  endTime: z.string().optional(),
  /** Includes enqueuing. */
  durationSeconds: z.int(),
  talkTimeSeconds: z.int(),
  /** Number of transfers. */
  transferred: z.int(),
  abandoned: z.boolean(),
  recorded: z.boolean(),
  /** Id of the call that returned this one. */
  calledBack: z.string().optional(),
  repeated: z.int(),
});
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

const segmentSchema = z.object({ start: z.number(), end: z.number(), speaker: z.int(), text: z.string() });
export type Segment = z.output<typeof segmentSchema>;

/** Absent means not analyzed. */
const score = z.int().optional();
const note = z.string().optional();

/** Section 2.11, stored as rendered. */
export const transcriptSchema = z.object({
  id: z.int(),
  callId: z.string(),
  /** Audio file name; embeds the leg's uniqueId without its dot. */
  recording: z.string(),
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
  /** Which speaker is the agent; absent when undetermined. */
  agentSpeaker: z.int().optional(),
  customKpis: z.array(z.object({ name: z.string(), value: z.int().optional(), note: z.string() })),
});
export type Transcript = z.output<typeof transcriptSchema>;

/** Section 2.12, stored as rendered. */
export interface Subscription {
  id: number;
  name: string;
  description: string;
  /** Delivery address; http or https. */
  url: string;
  type: EventType;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

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
  /** Users that this user sees beside itself; null removes the permission. */
  users: z.union([z.literal('all'), z.array(z.int()), z.null()]),
  /** The user's lines and unassigned lines (2.1). */
  phoneNumbers: z.boolean(),
  callReports: z.boolean(),
  /** Counts only together with callReports. */
  allowRecordings: z.boolean(),
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
  /** Micro-dollars for each segment. */
  smsMicros: micros,
  /** Micro-dollars for a whole mms. */
  mmsMicros: micros,
});
/** Rates of a number prefix (2.4). */
export type Rate = z.output<typeof rateSchema>;

/** Settings of the account's owner and of the service's operator. */
export const settingsSchema = z.strictObject({
  /** Deletes answer 403 (4.2). */
  restrictDeletingSms: z.boolean(),
  /** Recordings answer 403 to every credential (5.2). */
  sensitiveContent: z.boolean(),
  /** A destination without one answers 422 (section 7). */
  rates: z.array(rateSchema).max(500),
  /** Allowed hosts of redirect URIs (5.3). */
  redirectHosts: z.array(z.string().regex(/^[a-z0-9.[\]:-]{1,253}$/, 'must be a host in small letters, without port')),
  accessTokenSeconds: z.int().min(0).max(31_536_000),
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
  accessTokenSeconds: 3600,
};

/** An internal note, never sent to the other party (4.2). */
export interface Note {
  /** Absent when an integration wrote it. */
  by?: number;
  text: string;
  at: string;
}

/** State of the conversation between a line and a number (2.5). Resolving and assigning are independent. */
export interface ConversationState {
  line: string;
  number: string;
  resolved: boolean;
  /** Absent when an integration resolved it without naming a user. */
  resolvedBy?: number;
  resolvedAt?: string;
  assignedTo?: number;
  notes: Note[];
}

/** Section 2.7, stored as rendered. */
export interface BlockedSender {
  line: string;
  number: string;
  /** Never shown to the blocked party. */
  reason: string;
  blockedAt: string;
}

/** The number replied STOP to the line, and not START since. */
export interface OptOut {
  line: string;
  number: string;
  at: number;
}

/** Section 2.7, stored as rendered. */
export interface Draft {
  draftId: string;
  message: string;
}

/** A saved reply (2.7) with the user who saved it. */
export interface Template {
  id: number;
  title: string;
  body: string;
  userId: number;
}

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
