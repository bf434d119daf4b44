import { expect, test } from 'vitest';
import type { Finding } from '../../src/checks/check.ts';
import { known, type Part } from '../../src/checks/checks.ts';
import { type Overview, takeOverview } from '../../src/checks/overview.ts';
import { targetKinds } from '../../src/inbox/targets.ts';
import { renderStatus } from '../../src/server/status.ts';
import { migratedDatabase } from '../world/database.ts';
import { allIsWell, openReceiver, settingsFor } from './receiver.ts';
import { readable } from './seed.ts';

await using database = await migratedDatabase();
await using world = await openReceiver(settingsFor(database.url));
await allIsWell(world.context);

const takenAt = new Date('2026-04-21T12:00:00Z');
const before = (seconds: number) => new Date(takenAt.getTime() - seconds * 1_000);
const part = <T>(value: T) => ({ state: 'known', value }) as const;
const heldIn = <T>(of: Part<T>): T => known(of, undefined) as T;

/** All is well, and the newest text arrived two minutes ago; `changes` say what is not. */
const overview: Overview = {
  ...(await takeOverview(world.context)),
  takenAt,
  freshness: part(targetKinds.map((kind) => ({ kind, newestAt: before(125), readAt: before(2) }))),
  holdings: part([{ table: 'warehouse.calls', rows: 1_234_567, isExact: false }]),
};
const [complete, ledger, freshness, backlog] = [
  heldIn(overview.completeness),
  heldIn(overview.sends),
  heldIn(overview.freshness),
  heldIn(overview.backlog),
];
const render = (changes?: Partial<Overview>) => renderStatus({ ...overview, ...changes }, 'America/New_York');
const headline = (page: string) => /<h1>(.*?)<\/h1>/.exec(page)?.[1];

const nothing = part(targetKinds.map((kind) => ({ kind, newestAt: null, readAt: null })));
const due = (waiting: Partial<Record<string, number>>) => ({
  freshness: nothing,
  backlog: part(backlog.map((each) => ({ ...each, due: waiting[each.kind] ?? 0 }))),
});
const putOff = { later: 2, putOff: 2 };
const missing = { line: '…0100', missing: 9, since: before(90), state: 'behind', wasSearched: false } as const;
const found = (check: string, level: Finding['level'], sentence: string): Finding => {
  return { check, level, sentence, remedy: 'Wait.', since: undefined };
};
const announced = 'Everything that was announced is mirrored; the newest text arrived 2 min ago.';

test.each<[string, Partial<Overview>, string, string?]>([
  ['all is well', {}, 'Everything is mirrored; the newest text arrived 2 min ago.', 'about 1,234,567 held'],
  [
    'days were never compared',
    { findings: [found('calls_unproven', 'notice', 'Run `trunkline backfill calls`.')] },
    announced,
    'Run `trunkline backfill calls`.',
  ],
  [
    'unread texts are searched for',
    { completeness: part({ ...complete, lines: [missing] }) },
    announced,
    '9 unread texts being searched for',
  ],
  ['nothing has arrived', due({ lines: 1 }), 'Everything is ready; nothing has arrived yet.'],
  ['the first are being read', due({ lines: 1, thread: 2, call: 1 }), 'Everything is ready; 3 reads in progress.'],
  [
    'some reads were put off for a moment',
    { backlog: part(backlog.map((each, at) => ({ ...each, ...(at === 0 && putOff) }))) },
    'Everything is mirrored, except 2 reads in progress; the newest text arrived 2 min ago.',
  ],
  [
    'texts are simulated: refused is only what a gate refused',
    { sends: part({ ...ledger, counts: [{ state: 'DENIED', count: 5, simulated: 4, passed: 3 }] }) },
    'Everything is mirrored; the newest text arrived 2 min ago.',
    'simulated 3 refused by a gate 2 (1 dry-run)',
  ],
  [
    'a part could not be read',
    {
      inbox: { state: 'unknown', reason: 'canceling statement' },
      findings: [found('status_unknown', 'warning', 'Parts of this status could not be read: inbox.')],
    },
    'Parts of this status could not be read: inbox.',
    'Deliveries This could not be read: canceling statement',
  ],
])('says in one sentence that %s', (_, changes, sentence, detail = sentence) => {
  const page = render(changes);
  expect(headline(page)).toBe(sentence);
  const words = readable(page)
    .replaceAll(/ \[[^\]]*\]/g, '')
    .replaceAll('\n', ' ');
  expect(words).toContain(detail);
});

test('takes no stream for in step that was never read', () => {
  const unread = freshness.map((each) => (each.kind === 'call' ? { ...each, newestAt: null, readAt: null } : each));
  const words = readable(render({ freshness: part(unread) }));
  expect(words.split('up to date').length - 1).toBe(targetKinds.length - 1);
  expect(words).toContain('nothing read yet');
});

test('tells times from now, and exactly in the zone of the settings where the pointer rests', () => {
  expect(render()).toContain(
    '<time datetime="2026-04-21T11:57:55.000Z" title="21 Apr 2026, 07:57:55 GMT-4">2 min ago</time>',
  );
});

test('escapes whatever the service, the database or a sender wrote', () => {
  const hostile = `"><img src=x onerror='alert(1)'>&`;
  const page = render({
    completeness: part({ ...complete, lines: [{ ...missing, line: hostile }] }),
    holdings: { state: 'unknown', reason: hostile },
    findings: [{ ...found('status_unknown', 'warning', 'Not all is known.'), detail: hostile }],
  });
  expect(page).not.toContain('<img');
  expect(page.split('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;').length).toBeGreaterThan(2);
});

test('loads nothing from elsewhere', () => {
  const addresses = [...render().matchAll(/(?:src|href|url)\s*[=(]\s*"?([^"\s>)]+)/g)].map(([, address]) => address);
  expect(addresses).toContain('/metrics');
  expect(addresses.filter((address) => !/^(?:data:,$|#|\/(?!\/))/.test(address ?? ''))).toEqual([]);
});
