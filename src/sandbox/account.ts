/** The entities of the account as the sandbox keeps them; `resources/` renders them as the specification shows them. */

export const eventTypes = [
  'AccountRealTimeCalls',
  'AccountEndedCalls',
  'UserEndedCalls',
  'AccountSMS',
  'AccountAITranscription',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Section 2.8, served as it is. */
export interface User {
  id: number;
  username: string;
  firstName: string;
  lastName: string;
  title: string;
  email: string;
  mobile: string;
  company: string;
  timeZone: string;
  extension: string;
  extensions: string[];
  lines: string[];
  numbers: string[];
  voicemails: string[];
}

/** Section 2.1, served as it is. */
export interface Line {
  number: string;
  name: string;
  userIds: number[];
  bulkEnabled: boolean;
}

export interface Message {
  id: number;
  line: string;
  /** The other party; in a group thread the first of its participants. */
  number: string;
  /** Every other party of a group thread, sorted; empty in a thread of two. */
  participants: string[];
  direction: 'in' | 'out';
  from: string;
  text: string;
  /** File names; links are made when served. */
  media: string[];
  /** Milliseconds since the epoch. */
  sentAt: number;
  readBy: number[];
  /** Read on behalf of the account: an API key is nobody in particular. */
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
  /** A transfer gives the leg a call id of its own. */
  transferred: boolean;
}

type CallStatus = 'answered' | 'missed' | 'voicemail' | 'unknown';

export interface Call {
  id: string;
  /** Unix seconds; also the number before the dot of the id. */
  start: number;
  sequence: number;
  direction: 'inbound' | 'outbound';
  internal: boolean;
  status: CallStatus;
  answeredBy: number;
  caller: Endpoint;
  called: Endpoint;
  dialled: string;
  callerIdInternal: string;
  callerIdExternal: string;
  duration: number;
  talk: number;
  hasEnd: boolean;
  transfers: number;
  abandoned: boolean;
  recorded: boolean;
  calledBack?: string;
  repeated: number;
  legs: Leg[];
  /** Seed of what was said: transcripts are derived from it when asked for, so that 200,000 calls fit in memory. */
  script: number;
  /** Moment (ms) from which recordings are there; null for never. */
  recordingsAt: number | null;
  transcriptsAt: number | null;
  /** What stands instead of the derived transcripts. */
  transcripts?: Transcript[];
}

export interface Segment {
  start: number;
  end: number;
  speaker: number;
  text: string;
}

/** Section 2.11, served as it is. */
export interface Transcript {
  id: number;
  callId: string;
  recording: string;
  segments: Segment[];
  shortSummary?: string;
  bulletPoints: string[];
  callPurpose?: string;
  callSentiment?: string;
  customerSatisfactionScore?: number;
  customerSatisfactionScoreNote?: string;
  agentPerformanceScore?: number;
  agentPerformanceScoreNote?: string;
  actionRequired: boolean;
  actionRequiredNote?: string;
  urgentActionRequired: boolean;
  urgentActionRequiredNote?: string;
  agentName?: string;
  agentSpeaker?: number;
  customKpis: { name: string; value?: number; note: string }[];
}

/** Section 2.12; times in milliseconds. */
export interface Subscription {
  id: number;
  name: string;
  description: string;
  url: string;
  type: EventType;
  enabled: boolean;
  createdAt: number;
  updatedAt: number;
}
