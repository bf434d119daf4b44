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
  ...{
    lastDay: { reported: 40, unannounced: 2 },
    openGapCount: 0,
    openGapSince: null,
    lines: [],
    isFillingIn: false,
    backfillShare: null,
  },
};

const quietLedger: SendsStatus = {
  control: { isPaused: false, reason: null, by: null, since: before(3_600), highestUnitMicros: 0 },
  counts: { SENT: 4 },
  today: { spent: 40_000, reserved: 0, sends: 4 },
  dailyMicros: 5_000_000,
  unitMicros: 50_000,
  dearest: null,
  simulated: {},
  passedCount: 0,
  troubles: [],
  waitingOptOuts: 0,
  approvals: null,
};

const nothingOwed = {
  ...{ due: 0, later: 0, putOff: 0, longestPutOffSeconds: null, history: 0, unconfirmed: 0 },
  ...{ failing: 0, stubborn: 0, forbidden: 0 },
  ...{ isAtLeast: false, oldestDueSeconds: null, sampleErrors: [] },
};

const runningWorker = {
  ...({
    role: 'worker',
    startedAt: before(3_600),
    rulesMode: 'dry-run',
    connections: 9,
    addressHash: null,
  } as const),
  ...{ failingSeconds: null, accountProblem: null, isRefusing: false },
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
    lostWrites: known(null),
    postgres: known({ diskFullAt: null, readOnlyAt: null, connections: null }),
    isDiskFull: false,
    isReadOnly: false,
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
    completeness: known(complete),
    sends: known(quietLedger),
    inbox: known({
      types: [{ type: 'AccountSMS', lastHour: 1, lastDay: 1 }],
      isAtLeast: false,
      perMinute: [0, 1],
      unrecognized: { count: 0, lastDay: 0, isAtLeast: false },
    }),
    holdings: known([{ table: 'warehouse.calls', rows: 1_234_567, isExact: false }]),
    subscriptions: known({
      ours: ['AccountSMS'],
      broken: [],
      repaired: [],
      polled: [],
      lost: [],
      otherReceivers: [],
      checkedAt: before(60),
    }),
    queues: known({
      ...{ backend: 'postgres', isReachable: true, faults: [] },
      waiting: { conversations: 0, calls: 0, transcripts: 0, directory: 0, sends: 0 },
    }),
    rules: known({
      ...{ mode: 'dry-run', version: 1, appliedAt: before(3_600), by: 'a test', why: null, ruleCount: 1 },
      ...{ today: [], failing: [], failures: [], refusingTargets: [] },
      ...{ unreadable: null, lastHoliday: null, usesHours: false, usersZone: null },
    }),
    reporting: known({
      ...{
        timeZone: 'UTC',
        wantedTimeZone: null,
        isCurrent: true,
        waitingSince: null,
        failures: [],
        refusingTargets: [],
      },
      undatedCalls: 0,
      untied: [],
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
  expect(headline(page)).toBe('Everything that was announced is mirrored; the newest text arrived 2 min ago.');
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
  const fine = ['Deliveries', 'Compared with the service', 'Automatic texts', 'Rules', 'Webhook subscriptions'];
  expect(folds(render())).toEqual(fine);
  const control = { ...quietLedger.control, isPaused: true, reason: 'by the operator' };
  const bad = render({
    completeness: known({ ...complete, openGapCount: 1 }),
    sends: known({ ...quietLedger, control }),
  });
  expect(folds(bad).filter((title) => title.endsWith(' open'))).toEqual([
    ...['Compared with the service open', 'Automatic texts open'],
  ]);
});

test('calls simulated what every gate let pass in dry-run mode, and refused only what a gate refused', () => {
  const page = render({
    sends: known({ ...quietLedger, counts: { DENIED: 5 }, simulated: { DENIED: 4 }, passedCount: 3 }),
  });
  const words = page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(words).toContain('simulated 3 refused by a gate 2 (1 dry-run)');
});

test('says that nothing has arrived only while no text or call waits to be read', () => {
  const freshness = known(targetKinds.map((kind) => ({ kind, newestAt: null, readAt: null })));
  const due = (waiting: Partial<Record<string, number>>): Snapshot['backlog'] =>
    known(targetKinds.map((kind) => ({ ...nothingOwed, kind, due: waiting[kind] ?? 0 })));
  expect(headline(render({ freshness, backlog: due({ lines: 1 }) }))).toBe(
    'Everything is ready; nothing has arrived yet.',
  );
  expect(headline(render({ freshness, backlog: due({ lines: 1, thread: 2, call: 1 }) }))).toBe(
    'Everything is ready; 3 reads in progress.',
  );
});

test('says that everything was announced, not mirrored, while unread texts are searched for', () => {
  const line = { line: '…0100', missing: 9, since: before(90), state: 'behind', wasSearched: false } as const;
  const page = render({ completeness: known({ ...complete, lines: [line] }) });
  expect(headline(page)).toBe('Everything that was announced is mirrored; the newest text arrived 2 min ago.');
  expect(page).toContain('9 unread texts being searched for');
});

test('does not call mirrored what was put off for a moment', () => {
  const { backlog } = snapshotWith();
  const streams = backlog.state === 'known' ? backlog.value : [];
  const putOff = { later: 2, putOff: 2, longestPutOffSeconds: 3 };
  expect(headline(render({ backlog: known(streams.map((each, at) => ({ ...each, ...(at === 0 && putOff) }))) }))).toBe(
    'Everything is mirrored, except 2 reads in progress; the newest text arrived 2 min ago.',
  );
});

test('tells times from now, and exactly in the zone of the settings where the pointer rests', () => {
  expect(render()).toContain(
    '<time datetime="2026-04-21T11:57:55.000Z" title="21 Apr 2026, 07:57:55 GMT-4">2 min ago</time>',
  );
});

test('escapes whatever the service, the database or a sender wrote', () => {
  const hostile = `"><img src=x onerror='alert(1)'>&`;
  const page = render({
    subscriptions: known({
      ours: [],
      broken: [hostile],
      repaired: [],
      polled: [],
      lost: [],
      otherReceivers: [],
      checkedAt: null,
    }),
    holdings: { state: 'unknown', reason: hostile },
  });
  expect(page).not.toContain('<img');
  expect(page.split('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;').length).toBe(3);
});

test('shows a part that could not be asked in its place', () => {
  const page = render({ inbox: { state: 'unknown', reason: 'canceling statement due to statement timeout' } });
  expect(page).toContain('<h2>Deliveries</h2><p class="unknown">This could not be read: canceling statement');
  expect(headline(page)).toBe('Parts of this status could not be read: inbox.');
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
