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

  /** 6: deliveries carry local time with an offset, as captured; the zone of the account. */
  timeZone: 'America/New_York',
} as const;
