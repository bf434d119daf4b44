/**
 * Everything the specification leaves open ("not shown") and the sandbox had to decide, with the reason.
 * A client must not depend on any of it.
 */
export const assumptions = {
  /** 2.6, 4.2: "allowed range of limit: not shown". A range common to such services; outside it a 400, never a clamp. */
  threadLimit: { min: 1, max: 200, default: 50 },

  /** 2.6: order of messages is not stated. Newest first, as in call search. Equal seconds: the higher id first. */
  threadOrder: 'newest first',

  /** 4.2: a pair without messages has no stated error. A conversation has no id and so cannot be unknown: 200, empty. */
  unknownThread: 'empty',

  /**
   * 2.6, 4.2: what `groupParticipants` holds is not stated. All other parties without the line, in digits; as a query it
   * may leave out the `number` of the path, and its order does not matter. `to` of a group text joins them with commas.
   */
  groupSeparator: ',',

  /**
   * 4.2: only the thread read takes `groupParticipants`. Conversation state and the deleting of a whole conversation are
   * those of the pair alone. One message is found by its id in any thread of the line that the number takes part in, since
   * what a webhook tells can be used directly (6).
   */
  groupsWithoutParticipants: 'state and deletion of the pair, messages of both',

  /** 3: a text that comes into a resolved conversation is no transition of the table. Only reopen reopens. */
  reopens: 'by reopen alone',

  /** 4.2: `resolvedBy` with an OAuth token is "API keys only", its answer is not stated. 400, so that nobody relies on it. */
  resolvedByWithToken: 400,

  /** 3: whether a repeated resolve keeps its comment is not stated. Nothing is re-stamped, but the note is stored. */
  commentOnResolved: 'stored',

  /**
   * 4.2: marks for ids that are not in the conversation have no stated answer. 204, and nothing is marked: the message may
   * just have been deleted. An empty list is a 400: it cannot be meant.
   */
  marksOfStrangers: 'ignored',

  /** 4.2, 4.3: an API key has the account's read state: read by anyone is read, and it can only take back its own mark. */
  accountReadState: 'read by anyone is read',

  /** 4.2: deleting a conversation "destroys every message". Its state and notes stay; without messages it is 204 as well. */
  deletedConversation: 'messages only',

  /** 4.3: what a repeated block does with another reason is not stated. The first reason and time stand, as with resolve. */
  repeatedBlock: 'first one stands',

  /** 4.3: only messages that came in can be unread. Each line is listed, those with nothing unread too; an empty `lines` is 400. */
  unreadCounts: 'inbound',

  /** 4.3: `since` of a line's read mark is taken as that of the counts: what came after it is marked. A whole second is one that was shown. */
  since: 'exclusive, a whole second to its end',

  /**
   * 4.4: whose a draft is, is not stated, and its key is all there is to it: the account's. 5.2 lists "drafts by line" among
   * what needs Phone numbers: a user without that permission gets 403. A draft names no line, so none is checked.
   */
  draftsBelongTo: 'the account',

  /**
   * 4.4: who may delete whose saved reply is not stated. A user their own; for others it does not exist. 5.3 says that saved
   * replies need a user credential, so an API key gets 400 for the delete too. Empty title and body are taken: only comments
   * are said to be non-empty.
   */
  templatesBelongTo: 'the user who saved it',

  /** 2.2: whether `from` gets a country code is not stated. It does not: 2.4 is for recipients, and lists show its exact form. */
  fromNormalization: 'formatting only',

  /** 2.2, 7: in which order a send is judged is not stated. Credential, body (400), line (403), recipients (200), rate (422). */
  sendChecks: [401, 403, 400, 403, 200, 422],

  /** 2.2, 8: "5 MB" is 5 × 1024 × 1024 bytes. Line breaks and missing padding are not standard base64; no file is empty. */
  attachmentBytes: 5 * 1024 * 1024,

  /** 2.2: an extension of none of the four types is not said to be rejected. It is shown as a file of an unknown kind. */
  otherExtensions: 'application/octet-stream',

  /** 2.3: the words of an opt-out beside STOP are not stated. Those that carriers honour; START takes it back, for that line. */
  optOutWords: 'as carriers have them',

  /**
   * 2.3: which reason counts when two apply is not stated. The first of these; `type` of a send that skipped everyone is
   * what it would have been.
   */
  skipReasons: ['invalid', 'opted_out', 'duplicate'],

  /**
   * 2.4: segments are the units divided by what one holds, rounded up, as its table and rules 3 and 5 say. Real networks
   * never cut a character that costs two, and can need one more: a client that estimates a price should expect that.
   */
  segmentCuts: 'anywhere',

  /** 2.4: how rates are laid out is not shown. By the longest prefix of the number; a group costs the highest. */
  rates: 'by prefix',

  /** 2.6: a group with one blocked party is not described. It is blocked when all are; `status` in the answer stays `sent`. */
  blockedGroups: 'when every party is',

  /** 2.7: whether a blocked sender's own texts still arrive is not stated. They do: only delivery to them is described. */
  textsOfBlocked: 'arrive',

  /** 2.6: words of `delivery.status` are the carrier's own. Two carriers with different habits, to keep clients honest. */
  deliveredWords: ['delivered', 'DELIVRD'],
  failedReceipts: [
    { status: 'undelivered', error: '30005 Unknown destination handset' },
    { status: 'UNDELIV', error: 'absent subscriber' },
    { status: 'rejected', error: '30007 Carrier violation' },
  ],

  /** 2.9: no numeric code is listed for status `unknown`. One outside the listed ones. */
  unknownStatusCode: -2,

  /** 2.9: the window of `repeated` is not stated; nor how late a call back may come. One day for both. */
  repeatWindowSeconds: 86_400,

  /** 4.6: whether a call in progress stands in the history is not stated. History is written at hang-up: 404 until then. */
  callsAppear: 'at hang-up',

  /** 4.6: whether the ends of the search window count is not stated. Both do, so windows that touch share a second. */
  searchWindow: 'closed',

  /** 4.6: `filters.users` are strings of an unstated kind. The user's id in digits, or the username. */
  userFilter: ['id', 'username'],

  /** 4.6: no filter by day exists in the list, so `timeZone` decides what `timeOfDay` means; 22:00 to 06:00 wraps. */
  timeOfDay: 'in timeZone, both minutes included',

  /** 4.6: what an empty include list means is not stated. It rules out nothing, as do an empty search and a range without ends. */
  emptyFilter: 'filters nothing',

  /** 4.6: `waitTime` is not defined. What of the duration was not talk. */
  waitTime: 'durationSeconds - talkTimeSeconds',

  /** 4.6: the order of equal and absent values is not stated. Equal: newest first; absent: first ascending, last descending. */
  searchOrder: 'ties newest first',

  /** 4.6: whether queues, huntgroups and extensions are names or numbers is not stated. Either, on any leg. */
  endpointFilter: ['number', 'name'],

  /** 4.2: whether white space is an empty comment is not stated. It is: nobody could read it. */
  emptyComment: 'white space alone',

  /** 4.3: what a line that the credential may not use does to `lines` of the unread counts is not stated. 403, as elsewhere. */
  foreignLineInUnread: 403,

  /** 4.6: "too short" is not stated. */
  shortestTranscriptSeconds: 15,

  /** 4.6: "usually within a minute of hang-up". Compressed, so that a session at the sandbox sees it happen. */
  recordingAfterMs: { min: 2_000, max: 6_000 },
  transcriptAfterMs: { min: 6_000, max: 15_000 },
  receiptAfterMs: { min: 800, max: 3_000 },

  /** 4.7: create is not shown. REST habit: POST /webhooks with url and type, 201 with the subscription; enabled at once. */
  createdEnabled: true,

  /**
   * 6: delivery and retries are not shown. POST of JSON; 2xx within the timeout is success, anything else is tried again
   * after these delays as long as the subscription is enabled. No order is kept between deliveries.
   */
  deliveryTimeoutMs: 5_000,
  deliveryRetriesMs: [1_000, 5_000, 30_000],

  /** 5.3: how long a code lives is not stated. A minute: the program takes it at once, and a thief comes late. */
  codeLifetimeMs: 60_000,

  /** 5.3: the consent page is not shown. Whoever opens it chooses a user instead of signing in; it waits ten minutes. */
  consentLifetimeMs: 600_000,

  /**
   * 5.3: the answer to a second use of a code is not stated. 400, and all that the code gave is revoked, as OAuth 2.1
   * wants it. Of an old refresh token only "fails" is said: it does, and takes nothing with it.
   */
  secondUse: { code: 'revokes its grant', refreshToken: 'fails alone' },

  /**
   * 5.3: whether a code survives an exchange with a wrong verifier or redirect_uri is not stated. It does not: whoever
   * presents it so is not the program that asked for it, and may guess no further.
   */
  failedExchange: 'ends the code',

  /**
   * 5.3: redirect URIs are HTTPS, so that plain HTTP is refused, on the loopback address too. `trunkline sandbox
   * --plain-redirects` and the sandbox inside `trunkline start` allow it there, so that a log in can be tried without TLS.
   */
  plainRedirects: 'refused unless the operator allows them on loopback',

  /**
   * 5.2: with sensitive-content re-verification on, only "call recordings" are said to be unavailable over the API. The list
   * of recordings is 403 for everybody; transcripts stay, and links that were given out before go on working, since they
   * "do not expire" and are no API call (2.10). Transcripts need the same role and scope as recordings (5.2).
   */
  reverification: 'closes the list of recordings',

  /**
   * 5.3, 7: the bodies of errors at the registration and token endpoints are not shown. `error` and `error_description`
   * of RFC 6749 and RFC 7591 instead of the envelope: OAuth libraries read nothing else. All of them are 400.
   */
  oauthErrors: 'RFC 6749',

  /** 5.2: whether a user without Phone numbers gets 403 or no lines is not stated. 403, as for other missing permissions. */
  linesWithoutPermission: 403,

  /** 5.3: whether `state` is required is not stated. It comes back when it was sent; PKCE alone protects without it. */
  stateRequired: false,

  /** 6: deliveries carry local time with an offset, as captured; the zone of the account. */
  timeZone: 'America/New_York',
} as const;
