/**
 * Every choice that the specification leaves open ("not shown"), with the reason. Clients must not depend on any of them.
 * Values that no code reads document behaviour that a route implements.
 */
export const assumptions = {
  /** 2.6, 4.2: the allowed range of `limit` is not shown. A usual range; outside of it 400, never clamped. */
  threadLimit: { min: 1, max: 200, default: 50 },

  /** 2.6: the order of messages is not stated. Newest first, as in call search; in the same second the higher id first. */
  threadOrder: 'newest first',

  /** 4.2: a pair without messages has no stated error. Conversations have no id and cannot be unknown: 200, empty. */
  unknownThread: 'empty',

  /**
   * 2.6, 4.2: the content of `groupParticipants` is not stated. All parties except the line, in digits. In a query it may
   * omit the `number` of the path, and its order does not matter. `to` of a group text joins the parties with commas.
   */
  groupSeparator: ',',

  /**
   * 4.2: only the thread read takes `groupParticipants`. Conversation state and deleting a whole conversation apply to the
   * pair alone. A single message is found by its id in any thread of the line and number, group threads included, since
   * the ids of a webhook can be used directly (6).
   */
  groupsWithoutParticipants: 'state and deletion of the pair, messages of both',

  /** 3: a text that arrives in a resolved conversation is not a transition of the table. Only reopen reopens. */
  reopens: 'by reopen alone',

  /** 4.2: the answer to `resolvedBy` with an OAuth token ("API keys only") is not stated. 400, so that no client relies on it. */
  resolvedByWithToken: 400,

  /** 3: whether a repeated resolve keeps its comment is not stated. Resolver and time stay, and the note is stored. */
  commentOnResolved: 'stored',

  /**
   * 4.2: marks for ids outside the conversation have no stated answer. 204, and they are ignored: the message may just
   * have been deleted. An empty list is 400: it is probably a mistake.
   */
  marksOfStrangers: 'ignored',

  /** 4.2, 4.3: an API key has the account's read state: read by anyone is read. It can remove only its own mark. */
  accountReadState: 'read by anyone is read',

  /** 4.2: deleting a conversation deletes every message. Its state and notes stay. Without messages it is 204 as well. */
  deletedConversation: 'messages only',

  /** 4.3: a repeated block with another reason is not described. The first reason and time stay, as with resolve. */
  repeatedBlock: 'first one stands',

  /** 4.3: only inbound messages can be unread. Lines without unread messages are listed too; an empty `lines` is 400. */
  unreadCounts: 'inbound',

  /** 4.3: `since` works alike for marks and counts: only later messages count. A whole second includes its fraction. */
  since: 'exclusive, a whole second to its end',

  /**
   * 4.4: the owner of a draft is not stated. Its key is its only field, so it belongs to the account. 5.2 lists "drafts by
   * line" under Phone numbers: users without that permission get 403. A draft names no line, so no line is checked.
   */
  draftsBelongTo: 'the account',

  /**
   * 4.4: who may delete a saved reply is not stated. Users delete their own; for others it does not exist. 5.3 requires a
   * user credential for saved replies, so an API key gets 400 for a delete too. Empty titles and bodies are allowed: only
   * comments are said to be non-empty.
   */
  templatesBelongTo: 'the user who saved it',

  /** 2.2: whether `from` gets a country code is not stated. It does not: 2.4 is for recipients, and lists show its exact form. */
  fromNormalization: 'formatting only',

  /** 2.2, 7: the order of the checks of a send is not stated. Credential, body (400), line (403), recipients (200), rate (422). */
  sendChecks: [401, 403, 400, 403, 200, 422],

  /** 2.2, 8: "5 MB" is 5 × 1024 × 1024 bytes. Base64 has padding and no line breaks; empty files are refused. */
  attachmentBytes: 5 * 1024 * 1024,

  /** 2.2: other extensions than the four types are not said to be refused. They get a generic content type. */
  otherExtensions: 'application/octet-stream',

  /** 2.3: opt-out keywords other than STOP are not stated. Those that carriers honour; START opts in again, per line. */
  optOutWords: 'as carriers have them',

  /**
   * 2.3: which of two reasons applies is not stated. The first of these. `type` of a send that skipped everyone is that of
   * the same send without skips.
   */
  skipReasons: ['invalid', 'opted_out', 'duplicate'],

  /** 2.4: whether skipped recipients count for sms or mms is not stated. They do not: one that is reached is an sms, per segment. */
  typeAfterSkips: 'by recipients reached',

  /**
   * 2.4: "accented vowels (e, a, i, o, u with grave or acute)" are taken as written, in small letters: GSM-7 has only É of the
   * capital ones. The others put the text on the 70/67 budget.
   */
  capitalVowels: 'outside GSM-7 but É',

  /**
   * 2.4: segments are the units divided by the capacity, rounded up (table, rules 3 and 5). Real networks never split a
   * two-unit character and can need one more segment: clients that estimate prices should expect that.
   */
  segmentCuts: 'anywhere',

  /** 2.4: the structure of rates is not shown. By the longest prefix of the number; a group costs the highest. */
  rates: 'by prefix',

  /** 2.6: a group with one blocked party is not described. It is blocked when all are; `status` in the answer stays `sent`. */
  blockedGroups: 'when every party is',

  /** 2.7: whether texts of a blocked sender arrive is not stated. They do: only delivery to the sender is described. */
  textsOfBlocked: 'arrive',

  /** 2.6: `delivery.status` is the carrier's own text. Two carriers with different words, so that clients expect both. */
  deliveredWords: ['delivered', 'DELIVRD'],
  failedReceipts: [
    { status: 'undelivered', error: '30005 Unknown destination handset' },
    { status: 'UNDELIV', error: 'absent subscriber' },
    { status: 'rejected', error: '30007 Carrier violation' },
  ],

  /** 2.9: status `unknown` has no listed code. One outside the listed codes. */
  unknownStatusCode: -2,

  /**
   * 2.9: the words for `callerType` are external, user, queue and huntgroup; those for `calledType`, and for legs, are not
   * listed. Captured deliveries also have ivr and mailbox, so called parties have both, and callers of legs ivr.
   */
  partyTypes: ['external', 'user', 'queue', 'huntgroup', 'ivr', 'mailbox'],

  /**
   * 2.9: legs chain through `bridgedFromCallId`, and what it holds is not shown. The `uniqueId` of the earlier leg: legs of one
   * call share their `callId`, which could not tell them apart.
   */
  bridgedFromCallId: 'uniqueId of the earlier leg',

  /**
   * 2.10: whether a leg's own `callId`, after a transfer, is a call by itself is not stated. It is none: search lists one row a
   * call, and asking for it is 404 (no such object).
   */
  callIdOfTransferredLeg: 'names no call',

  /** 2.9: the windows of `repeated` and of a call back are not stated. One day for both. */
  repeatWindowSeconds: 86_400,

  /** 4.6: whether the history shows a call in progress is not stated. It is added at hang-up: 404 until then. */
  callsAppear: 'at hang-up',

  /** 7: only unknown body fields and enumerated query values are said to be refused. Unknown query keys are ignored. */
  unknownQueryKeys: 'ignored',

  /** 4, 7: a body that is JSON but no object is malformed, `null` as well: 400. No body, or an empty one, leaves out all fields. */
  nullBody: 400,

  /** 4.6: whether the search window includes its ends is not stated. It includes both, so adjacent windows share a second. */
  searchWindow: 'closed',

  /** 4.6: `filters.users` are strings of an unstated kind. The user's id in digits, or the username. */
  userFilter: ['id', 'username'],

  /** 4.6: no filter is by date, so `timeZone` applies to `timeOfDay`. A range such as 22:00 to 06:00 wraps. */
  timeOfDay: 'in timeZone, both minutes included',

  /** 4.6: an empty include list is not described. It excludes nothing, like an empty search and a range without ends. */
  emptyFilter: 'filters nothing',

  /** 4.6: `waitTime` is not defined. The part of the duration without talk. */
  waitTime: 'durationSeconds - talkTimeSeconds',

  /** 4.6: the order of equal and absent values is not stated. Equal: newest first; absent: first ascending, last descending. */
  searchOrder: 'ties newest first',

  /** 4.6: whether queues, huntgroups and extensions are names or numbers is not stated. Either, on any leg. */
  endpointFilter: ['number', 'name'],

  /** 4.2: whether white space is an empty comment is not stated. It is. */
  emptyComment: 'white space alone',

  /** 4.3: a line in `lines` that the credential may not use is not described. 403, as elsewhere. */
  foreignLineInUnread: 403,

  /** 4.6: "too short" is not defined. */
  shortestTranscriptSeconds: 15,

  /** 4.6: "usually within a minute of hang-up". Shorter here, so that a session at the sandbox sees it happen. */
  recordingAfterMs: { min: 2_000, max: 6_000 },
  transcriptAfterMs: { min: 6_000, max: 15_000 },
  receiptAfterMs: { min: 800, max: 3_000 },

  /** 4.7: create is not shown. As usual in REST: POST /webhooks with url and type, 201, enabled at once. */
  createdEnabled: true,

  /**
   * 6: delivery and retries are not shown. POST of JSON; 2xx within the timeout is success, anything else is retried after
   * these delays while the subscription is enabled. Deliveries are not ordered.
   */
  deliveryTimeoutMs: 5_000,
  deliveryRetriesMs: [1_000, 5_000, 30_000],

  /** 5.3: the lifetime of a code is not stated. One minute: clients redeem it at once. */
  codeLifetimeMs: 60_000,

  /** 5.3: the consent page is not shown. The visitor chooses a user instead of signing in. The page is valid for ten minutes. */
  consentLifetimeMs: 600_000,

  /**
   * 5.3: the answer to a second use of a code is not stated. 400, and all tokens of the code are revoked, as OAuth 2.1
   * requires. A used refresh token only "fails": its grant stays valid.
   */
  secondUse: { code: 'revokes its grant', refreshToken: 'fails alone' },

  /** 5.3: a refresh takes grant_type, refresh_token and client_id. Another field, such as `scope`, is ignored: nothing is narrowed. */
  scopeOfRefresh: 'ignored',

  /** 5.3: whether a code survives a wrong verifier or redirect_uri is not stated. It does not, so nobody can keep guessing. */
  failedExchange: 'ends the code',

  /**
   * 5.3: redirect URIs are HTTPS, so plain HTTP is refused on loopback too. `trunkline sandbox --plain-redirects` and the
   * sandbox inside `trunkline start` allow it there, so that a login can be tried without TLS.
   */
  plainRedirects: 'refused unless the operator allows them on loopback',

  /**
   * 5.2: with sensitive-content re-verification on, only "call recordings" are said to be unavailable over the API. The
   * list of recordings is 403 for everyone. Transcripts stay, and so do earlier links, which "do not expire" and are not
   * API calls (2.10). Transcripts need the same role and scope as recordings (5.2).
   */
  reverification: 'closes the list of recordings',

  /**
   * 5.3, 7: error bodies of the registration and token endpoints are not shown. `error` and `error_description` of RFC 6749
   * and RFC 7591 instead of the envelope, as OAuth libraries expect. All of them are 400.
   */
  oauthErrors: 'RFC 6749',

  /** 5.2: whether a user without Phone numbers gets 403 or no lines is not stated. 403, as for other missing permissions. */
  linesWithoutPermission: 403,

  /** 5.3: whether `state` is required is not stated. It is optional and returned unchanged; PKCE protects without it. */
  stateRequired: false,

  /** 6: deliveries have local times with an offset, as captured: in the time zone of the account. */
  timeZone: 'America/New_York',
} as const;
