import { expect, test } from 'vitest';
import { targetKinds } from '../../src/inbox/targets.ts';
import type { SendsStatus } from '../../src/ops/snapshot/automation.ts';
import type { Completeness } from '../../src/ops/snapshot/mirror.ts';
import type { Snapshot } from '../../src/ops/snapshot.ts';
import { renderOutage, renderPage } from '../../src/server/status-page.ts';

const takenAt = new Date('2026-04-21T12:00:00Z');
const before = (seconds: number) => new Date(takenAt.getTime() - seconds * 1_000);
const known = <T>(value: T) => ({ state: 'known', value }) as const;

const complete: Completeness = {
  ...{ hours: [{ begin: before(7_200), state: 'proven' }], unprovenCount: 0, provenUntil: null, difference: null },
  uncompared: { days: 0, of: 14, texts: false },
  ...{ lastDay: { reported: 40, unannounced: 2 }, openGapCount: 0, openGapSince: null, lines: [], backfillShare: null },
};

const quietLedger: SendsStatus = {
  control: { isPaused: false, reason: null, by: null, since: before(3_600), highestUnitMicros: 0 },
  counts: { SENT: 4 },
  today: { spent: 40_000, reserved: 0, sends: 4 },
  dailyMicros: 5_000_000,
  simulated: {},
  passedCount: 0,
  troubles: [],
  waitingOptOuts: 0,
};

const nothingOwed = {
  ...{ due: 0, later: 0, putOff: 0, longestPutOffSeconds: null, history: 0, unconfirmed: 0 },
  ...{ failing: 0, stubborn: 0, forbidden: 0 },
  ...{ isAtLeast: false, oldestDueSeconds: null, sampleErrors: [] },
};

const forbiddenThreads: Snapshot['backlog'] = known([{ ...nothingOwed, kind: 'thread', later: 3, forbidden: 3 }]);

const runningWorker = {
  ...({
    role: 'worker',
    startedAt: before(3_600),
    rulesMode: 'dry-run',
    connections: 9,
    answeredSeconds: 1,
    addressHash: null,
    keyName: null,
  } as const),
  ...{ waitingSeconds: null, waitingOperation: null, failingSeconds: null, accountProblem: null },
};
const runningWeb = { ...runningWorker, role: 'web', rulesMode: null } as const;

/** All is well; `changes` say what is not. */
function snapshotWith(changes: Partial<Snapshot> = {}): Snapshot {
  return {
    takenAt,
    release: '1.0.0',
    commit: '0123456789ab',
    uptimeSeconds: 90_000,
    alerts: known({ open: [], undelivered: [] }),
    disk: known(undefined),
    postgres: known({ waits: [], long: [], diskFullAt: null, connections: null }),
    isDiskFull: false,
    credential: known({ use: 'api_key' }),
    schema: known({
      newestMigration: '0006_calls',
      isMigrated: true,
      outdatedViews: [],
      takesWrites: true,
      postgres: '18.4',
    }),
    freshness: known(targetKinds.map((kind) => ({ kind, newestAt: before(125), readAt: before(2) }))),
    backlog: known(targetKinds.map((kind) => ({ kind, ...nothingOwed }))),
    parked: known([]),
    setAside: known([]),
    errors: known([]),
    artefacts: known({ calls: 0, recordings: {}, transcripts: {} }),
    completeness: known(complete),
    sends: known(quietLedger),
    inbox: known({
      types: [{ type: 'AccountSMS', lastHour: 1, lastDay: 1 }],
      isAtLeast: false,
      perMinute: [0, 1],
      unrecognized: { count: 0, lastDay: 0, isAtLeast: false },
      latest: [
        { id: '42', receivedAt: before(2), type: 'AccountSMS', targets: ['thread …0100/…0123'], isRecognized: true },
      ],
    }),
    holdings: known([{ table: 'warehouse.calls', rows: 1_234_567, isExact: false }]),
    drift: known({ kinds: 0, latest: [], partial: [] }),
    subscriptions: known({
      ours: [{ type: 'AccountSMS', isEnabled: true }],
      broken: [],
      repaired: [],
      othersCount: 0,
      otherDeployments: [],
      readAt: before(60),
    }),
    queues: known({
      ...{ backend: 'postgres', isReachable: true, warnings: [], notices: [] },
      waiting: { conversations: 0, calls: 0, transcripts: 0, directory: 0, sends: 0 },
    }),
    rules: known(undefined),
    reporting: known({
      ...{
        timeZone: 'UTC',
        wantedTimeZone: null,
        isCurrent: true,
        behindSince: null,
        waitingSince: null,
        failures: [],
      },
      undatedCalls: 0,
      setAside: { count: 0, since: null, samples: [] },
    }),
    processes: known([runningWeb, runningWorker]),
    circuit: undefined,
    isRefusing: false,
    ...changes,
  };
}

const render = (changes?: Partial<Snapshot>) => renderPage(snapshotWith(changes), { timeZone: 'America/New_York' });
const headline = (page: string) => /<h1>(.*?)<\/h1>/.exec(page)?.[1];

test('says in one sentence that all is well', () => {
  expect(headline(render())).toBe('Everything is mirrored; the newest text arrived 2 min ago.');
});

test('names what was never compared beside what is mirrored, and takes no stream for in step that was never read', () => {
  const { freshness } = snapshotWith();
  const streams = freshness.state === 'known' ? freshness.value : [];
  const page = render({
    completeness: known({ ...complete, uncompared: { days: 12, of: 14, texts: false } }),
    freshness: known(streams.map((each) => (each.kind === 'call' ? { ...each, newestAt: null, readAt: null } : each))),
  });
  expect(headline(page)).toBe(
    'Everything that was announced is mirrored; the newest text arrived 2 min ago. Not proven: the calls of 12 of the last 14 days.',
  );
  expect(page).toContain('<span class="dot notice"></span>');
  expect(page).toContain('trunkline backfill calls');
  expect(page.split('title="up to date"').length - 1).toBe(targetKinds.length - 1);
  expect(page).toContain('title="nothing read yet"');
});

test('folds on a phone what is fine, and leaves open what is not', () => {
  const folds = (page: string) =>
    [...page.matchAll(/<details class="card fold"( open)?><summary><h2>(?:<a [^>]*>)?([^<]*)/g)].map(
      ([, open, title]) => `${title}${open ?? ''}`,
    );
  const fine = ['Deliveries', 'Compared with the service', 'Automatic texts', 'Of the newest calls', 'Queue'];
  expect(folds(render())).toEqual([...fine, 'Webhook subscriptions', 'Rows held']);
  const control = { ...quietLedger.control, isPaused: true, reason: 'by the operator' };
  const bad = render({
    completeness: known({ ...complete, openGapCount: 1 }),
    sends: known({ ...quietLedger, control }),
    queues: known({
      ...{ backend: 'redis', isReachable: false, warnings: [], notices: [] },
      waiting: { conversations: null, calls: null, transcripts: null, directory: null, sends: null },
    }),
  });
  expect(folds(bad).filter((title) => title.endsWith(' open'))).toEqual([
    ...['Compared with the service open', 'Automatic texts open', 'Queue open'],
  ]);
});

test('calls simulated what every gate let pass in dry-run mode, and refused only what a gate refused', () => {
  const page = render({
    sends: known({ ...quietLedger, counts: { DENIED: 5 }, simulated: { DENIED: 4 }, passedCount: 3 }),
  });
  const words = page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(words).toContain('simulated 3 refused by a gate 2 (1 dry-run)');
});

test('says that older texts were never searched, also when all calls are compared', () => {
  const page = render({ completeness: known({ ...complete, uncompared: { days: 0, of: 14, texts: true } }) });
  expect(headline(page)).toBe(
    'Everything that was announced is mirrored; the newest text arrived 2 min ago. Not searched: older texts.',
  );
  expect(page).toContain('Texts from before the first start were never searched for.');
  expect(page).toContain('trunkline backfill threads');
});

test('says that nothing has arrived only while no text or call waits to be read', () => {
  const freshness = known(targetKinds.map((kind) => ({ kind, newestAt: null, readAt: null })));
  const due = (waiting: Partial<Record<string, number>>): Snapshot['backlog'] =>
    known(targetKinds.map((kind) => ({ ...nothingOwed, kind, due: waiting[kind] ?? 0 })));
  expect(headline(render({ freshness, backlog: due({ lines: 1 }) }))).toBe(
    'Everything is ready; nothing has arrived yet.',
  );
  expect(headline(render({ freshness, backlog: due({ lines: 1, thread: 2, call: 1 }) }))).toBe(
    'Everything is ready; the first 3 reads are in progress.',
  );
});

test('puts what may be missing above odd posts, which are no headline', () => {
  const odd = {
    types: [],
    isAtLeast: false,
    perMinute: [],
    latest: [],
    unrecognized: { count: 6, lastDay: 6, isAtLeast: false },
  };
  expect(headline(render({ inbox: known(odd) }))).toBe('Everything is mirrored; the newest text arrived 2 min ago.');
  const missing = { line: '…0100', missing: 1, since: before(60), state: 'unexplained', wasSearched: false } as const;
  const page = render({ inbox: known(odd), completeness: known({ ...complete, lines: [missing] }) });
  expect(headline(page)).toBe('Unread texts of …0100 cannot be found: a possible gap.');
  const searched = { ...missing, missing: 9, since: before(90), state: 'behind' } as const;
  expect(headline(render({ completeness: known({ ...complete, lines: [searched] }) }))).toBe(
    'Everything is mirrored; the newest text arrived 2 min ago. Being searched for: 9 unread texts that no webhook announced.',
  );
  expect(page).toContain('6 deliveries of the last day could not be parsed.');
});

test('does not call mirrored what was put off for a moment', () => {
  const { backlog } = snapshotWith();
  const streams = backlog.state === 'known' ? backlog.value : [];
  const putOff = { later: 2, putOff: 2, longestPutOffSeconds: 3 };
  expect(headline(render({ backlog: known(streams.map((each, at) => ({ ...each, ...(at === 0 && putOff) }))) }))).toBe(
    'Everything is mirrored, except 2 reads in progress; the newest text arrived 2 min ago.',
  );
});

test('says which credential is in use', () => {
  expect(render()).toContain('<span>API key</span>');
});

test('says first of all that somebody has to log in', () => {
  const login = { use: 'login', state: 'lost', scopes: ['sms:read'], user: 'Karen <Whitfield>' } as const;
  const times = { loggedInAt: before(90_000), expiresAt: before(60), lastError: 'its answer is lost' };
  const page = render({
    credential: known({ ...login, ...times }),
    parked: known([{ kind: 'call', since: before(5), until: before(-5), missingScope: null, reason: 'no' } as never]),
  });
  expect(headline(page)).toBe('The login is no longer valid, so nothing is read.');
  expect(page).toContain('The reason: its answer is lost.');
  expect(page).toContain('login of Karen &lt;Whitfield&gt;, lost: log in again');
});

test('has whoever logged in log in again, and no key set, where the service refuses the tokens', () => {
  const times = { loggedInAt: before(90_000), expiresAt: before(-60), lastError: null };
  const login = { use: 'login', state: 'valid', scopes: ['users:read'], user: null, ...times } as const;
  const parked = known([
    {
      kind: 'users',
      since: before(5),
      until: before(-5),
      missingScope: null,
      code: 'unauthenticated',
      reason: 'refused (401)',
    },
  ] as const);
  const page = render({ credential: known(login), parked });
  expect(headline(page)).toBe('Users are not read: the service refuses the credential.');
  expect(page).toContain('auth login');
  expect(page).not.toContain('API_KEY');
});

test('tells times from now, and exactly in the zone of the settings where the pointer rests', () => {
  expect(render()).toContain(
    '<time datetime="2026-04-21T11:57:55.000Z" title="21 Apr 2026, 07:57:55 GMT-4">2 min ago</time>',
  );
});

test('escapes whatever the service, the database or a sender wrote', () => {
  const hostile = `"><img src=x onerror='alert(1)'>&`;
  const page = render({
    errors: known([
      { kind: 'call', key: hostile, state: hostile, attempts: 1, error: hostile, readAt: takenAt, nextAt: null },
    ]),
    drift: known({
      kinds: 1,
      latest: [{ operation: hostile, path: hostile, what: hostile, sample: hostile, seen: 1, lastSeenAt: takenAt }],
      partial: [{ operation: hostile, path: hostile, lastSeenAt: takenAt }],
    }),
    subscriptions: known({
      ours: [{ type: hostile, isEnabled: false }],
      broken: [],
      repaired: [],
      othersCount: 0,
      otherDeployments: [],
      readAt: null,
    }),
    artefacts: { state: 'unknown', reason: hostile },
  });
  expect(page).not.toContain('<img');
  expect(page.split('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;').length).toBeGreaterThan(9);
});

test('shows a part that could not be asked in its place', () => {
  const page = render({ inbox: { state: 'unknown', reason: 'canceling statement due to statement timeout' } });
  expect(page).toContain('<h2>Deliveries</h2><p class="unknown">This could not be read: canceling statement');
  expect(headline(page)).toBe('Parts of this status could not be read: inbox.');
});

test.each<[string, Partial<Snapshot>]>([
  [
    'The database lacks migrations of this release.',
    {
      schema: known({
        newestMigration: null,
        isMigrated: false,
        outdatedViews: [],
        takesWrites: true,
        postgres: '18.4',
      }),
    },
  ],
  [
    '2 hours of call history are not proven complete.',
    { completeness: known({ ...complete, unprovenCount: 2, difference: 'the service counts 3 calls and lists 2' }) },
  ],
  [
    'Call history is proven complete only up to 3 h ago; each hour should be, soon after its end.',
    { completeness: known({ ...complete, provenUntil: before(3 * 3_600) }) },
  ],
  [
    '84% of the daily budget of automatic texts are used ($4.20 of $5.00).',
    { sends: known({ ...quietLedger, today: { spent: 4_000_000, reserved: 200_000, sends: 400 } }) },
  ],
  [
    'The disk of the database has 0.1 GiB of 20.0 GiB left. When it is full, deliveries are answered 503 and nothing is mirrored.',
    { disk: known({ freeBytes: 0.1 * 1024 ** 3, totalBytes: 20 * 1024 ** 3 }) },
  ],
  [
    'The subscription of AccountEndedCalls is disabled or missing.',
    {
      subscriptions: known({
        ...{ ours: [{ type: 'AccountSMS', isEnabled: true }], broken: ['AccountEndedCalls'] },
        ...{ repaired: [], othersCount: 0, otherDeployments: [], readAt: takenAt },
      }),
    },
  ],
  [
    '2 alerts could not be sent by slack: it answered 404.',
    { alerts: known({ open: [], undelivered: [{ target: 'slack', count: 2, error: 'it answered 404' }] }) },
  ],
  [
    'Another deployment of Trunkline receives the webhooks of this account: other.example.',
    {
      rules: known({
        ...{ mode: 'live', version: 'v1', loadedAt: takenAt, ruleCount: 1, problem: null },
        ...{ workers: [], hoursZone: null, usersZone: null, today: [], failing: [], actions: [], failures: [] },
      }),
      subscriptions: known({
        ...{ ours: [{ type: 'AccountSMS', isEnabled: true }], broken: [], repaired: [] },
        ...{ othersCount: 3, otherDeployments: ['other.example'], readAt: takenAt },
      }),
    },
  ],
  [
    'The account of 1 of 2 processes is not recognized, so nothing is read, proven or sent: another account answers.',
    { processes: known([runningWeb, { ...runningWorker, accountProblem: 'another account answers' }]) },
  ],
  [
    'Unread texts of …0100 cannot be found: a possible gap.',
    {
      completeness: known({
        ...complete,
        lines: [{ line: '…0100', missing: 1, since: before(60), state: 'unexplained', wasSearched: false }],
      }),
    },
  ],
  [
    'Calls are not read: the service refuses the credential.',
    {
      parked: known([
        { kind: 'call', since: takenAt, until: takenAt, code: 'unauthenticated', reason: 'no', missingScope: null },
      ]),
    },
  ],
  ['The last delivery could not be stored and was answered 503.', { isRefusing: true }],
  [
    'The service fails repeatedly, so no request is sent for a while.',
    { circuit: { state: 'open', retryAfterMs: 5_000 } },
  ],
  ['The API key may not read 3 conversations.', { backlog: forbiddenThreads }],
  [
    'The role of the logged-in user may not read 3 conversations.',
    {
      credential: known({
        ...{ use: 'login', state: 'valid', scopes: ['sms:read'], user: 'Karen', lastError: null },
        ...{ loggedInAt: before(90_000), expiresAt: before(-60) },
      }),
      backlog: forbiddenThreads,
    },
  ],
  [
    'The credential of the worker may not read 3 conversations.',
    { credential: known({ use: 'none' }), backlog: forbiddenThreads },
  ],
  [
    'The mirror is 15 min behind: 1,200 reads are overdue.',
    {
      backlog: known([{ ...nothingOwed, kind: 'call', due: 1_200, oldestDueSeconds: 900 }]),
    },
  ],
  [
    '31 reads failed and wait for a retry.',
    {
      backlog: known([
        {
          ...({ kind: 'thread', due: 0, later: 40, putOff: 31, longestPutOffSeconds: 60, history: 0 } as const),
          unconfirmed: 0,
          ...{ failing: 0, stubborn: 0, forbidden: 0, isAtLeast: false, oldestDueSeconds: null },
          sampleErrors: ['conversations.read: the service asks for a pause (429)'],
        },
      ]),
    },
  ],
  [
    'No webhook subscription delivers to this receiver, so new texts and calls are not announced.',
    {
      subscriptions: known({
        ours: [],
        broken: [],
        repaired: [],
        othersCount: 2,
        otherDeployments: [],
        readAt: takenAt,
      }),
      inbox: known({
        ...{ types: [], isAtLeast: false, perMinute: [], latest: [] },
        unrecognized: { count: 0, lastDay: 0, isAtLeast: false },
      }),
    },
  ],
])('says what is wrong: %s', (sentence, changes) => {
  const page = render(changes);
  expect(headline(page)).toBe(sentence);
  expect(page).toMatch(/<\/h1><p class="remedy">\S/);
});

test('says that an estimate is one', () => {
  expect(render()).toContain('about 1,234,567 held');
});

test('loads nothing from elsewhere', () => {
  const addresses = [...render().matchAll(/(?:src|href|url)\s*[=(]\s*"?([^"\s>)]+)/g)].map(([, address]) => address);
  expect(addresses).toContain('/metrics');
  expect(addresses.filter((address) => !/^(?:data:,$|#|\/(?!\/))/.test(address ?? ''))).toEqual([]);
});

test('an outage is one sentence', () => {
  expect(headline(renderOutage('Postgres is <away>.'))).toBe('Postgres is &lt;away&gt;.');
});

test('says what automatic texts cost today, that they are paused, and that some need a person', () => {
  expect(renderPage(snapshotWith(), { timeZone: 'UTC' })).toContain('$0.04 spent today of $5.00');
  const control = { ...quietLedger.control, isPaused: true, reason: 'too many', by: 'ledger' } as const;
  const page = renderPage(snapshotWith({ sends: known({ ...quietLedger, control, counts: { NEEDS_HUMAN: 2 } }) }), {
    timeZone: 'UTC',
  });
  expect(page).toContain('All automatic texts are paused.');
  expect(page).toContain('2 automatic texts may or may not have gone out.');
});
