import { describe, expect, test } from 'vitest';
import {
  pageUrl,
  plainTextHost,
  readSettings,
  SettingsError,
  settingsRows,
  settingsText,
  weaknessesOf,
} from '../../config/settings.ts';
import { isLoopback } from '../../src/shared/proxy.ts';

function problemsOf(...given: Parameters<typeof readSettings>): readonly string[] {
  try {
    readSettings(...given);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

type Environment = Readonly<Record<string, string>>;
const pages = { servesPages: true };

test('an empty environment has usable settings, and an empty variable counts as not set', () => {
  expect(readSettings({})).toMatchObject({
    ...{ receiver: { host: '127.0.0.1', port: 3000, secret: undefined }, databaseUrl: undefined, redisUrl: undefined },
    ...{ dataDir: '.data', timeZone: 'UTC', hoursZone: undefined, logLevel: 'info', deliveryDays: 30 },
    retentionDays: {},
  });
  const names = ['API_BASE_URL', 'API_KEY', 'DATABASE_URL', 'REDIS_URL', 'PORT', 'HOST', 'LOG_LEVEL', 'TIME_ZONE'];
  const empty = [...names, 'WEBHOOK_SECRET', 'RETENTION_DAYS'].map((name) => [name, '']);
  expect(readSettings(Object.fromEntries(empty))).toEqual(readSettings({}));
  expect(problemsOf({ API_KEY: '' }, { needed: ['API_KEY'] })).toHaveLength(1);
});

test('a line break around a value is no part of it', () => {
  const secret = 'x'.repeat(40);
  const clean = {
    ...{ ADMIN_TOKEN: secret, API_KEY: secret, ENCRYPTION_KEY: secret, WEBHOOK_SECRET: secret, RULES_MODE: 'live' },
    ...{ TIME_ZONE: 'Europe/Paris', DATABASE_URL: 'postgres://host/x', REDIS_URL: 'redis://host/1' },
    ...{ API_BASE_URL: 'https://host/x', PUBLIC_URL: 'https://host/x' },
  };
  const broken = Object.fromEntries(Object.entries(clean).map(([name, value]) => [name, ` ${value}\r\n`]));
  expect(readSettings(broken)).toEqual(readSettings(clean));
});

test('all problems come at once, each with its variable', () => {
  const wrong = {
    ...{ API_BASE_URL: 'not an address', DATABASE_URL: 'mysql://x/y', REDIS_URL: 'http://x', PORT: '99999' },
    ...{ LOG_LEVEL: 'loud', TIME_ZONE: 'Nowhere/Land', BACKFILL_DAYS: '-1', WEBHOOK_SECRET: 'with spaces' },
  };
  const problems = problemsOf({ ...wrong, HOST: '0.0.0.0' }, { needed: ['API_KEY'], ...pages });
  const named = problems.map((problem) => problem.split(' ')[0]);
  expect(named.sort()).toEqual([...Object.keys(wrong), 'ADMIN_TOKEN', 'API_KEY'].sort());
});

/** What is given, and the one setting that is made of it. */
test.each<[Environment, unknown]>([
  // An address that Kubernetes sets for a service of that name is no port.
  [{ WORKER_PORT: 'tcp://10.96.0.12:80', PORT: 'tcp://10.96.0.12:80' }, {}],
  ...[0, 65_535, 8_080].map((port): [Environment, object] => [{ PORT: `${port}` }, { receiver: { port } }]),
  [{ RETENTION_DAYS: 'texts=365' }, { retentionDays: { texts: 365 } }],
  [{ RETENTION_DAYS: 'texts=365,recordings=7' }, { retentionDays: { texts: 365, recordings: 7 } }],
  [{ RETENTION_DAYS: ' recordings = 36500 , texts=30\n' }, { retentionDays: { recordings: 36_500, texts: 30 } }],
  [{ EVENT_RETENTION_DAYS: '90' }, { retentionDays: {}, deliveryDays: 90 }],
  [{ WEBHOOK_SECRET: 'new' }, { receiver: { secret: 'new', previousSecret: undefined } }],
  [{ WEBHOOK_SECRET: 'new', WEBHOOK_SECRET_PREVIOUS: 'old' }, { receiver: { secret: 'new', previousSecret: 'old' } }],
  ...[
    'postgres://owner:pass%40word@host:5432/db',
    'postgresql://owner:pass@host/db?sslmode=verify-full&channel_binding=require',
    'postgresql://owner:pass@[::1]:5432/db',
    'postgresql:///db?host=/run/postgresql&user=owner',
    'postgresql://owner:pass@%2Frun%2Fpostgresql/db',
    'postgresql://owner:pass@/db?host=/cloudsql/project:region:instance',
  ].map((url): [Environment, object] => [{ DATABASE_URL: url }, { databaseUrl: url }]),
  // A mode of TLS is what the driver makes of it.
  ...[
    ['require', 'verify-full'],
    ['prefer', 'verify-full'],
    ['verify-ca', 'verify-full'],
    ['verify-full', 'verify-full'],
    ['no-verify', 'no-verify'],
    ['disable', 'disable'],
    ['require&uselibpqcompat=true', 'require&uselibpqcompat=true'],
  ].map((modes): [Environment, object] => {
    const [given, used] = modes.map((mode) => `postgres://host/db?application_name=x&sslmode=${mode}`);
    return [{ DATABASE_URL: given ?? '' }, { databaseUrl: used }];
  }),
  // Slashes at its end do not stand in the hooks.
  [{ PUBLIC_URL: 'https://hooks.example/in//' }, { receiver: { publicUrl: 'https://hooks.example/in' } }],
  ...['https://host', 'https://host/in/', 'https://host/api', 'https://host/api/public/v1/users'].map(
    (baseUrl): [Environment, object] => [{ API_BASE_URL: baseUrl }, { api: { baseUrl } }],
  ),
  [{ API_BASE_URL: 'https://host/api/public/v1' }, { api: { baseUrl: 'https://host' } }],
  [{ API_BASE_URL: 'https://host/api/public/v1/' }, { api: { baseUrl: 'https://host' } }],
  [{ API_BASE_URL: 'https://host/in/API/public' }, { api: { baseUrl: 'https://host/in' } }],
])('%j makes %j', (given, made) => {
  expect(readSettings(given)).toMatchObject(made as object);
});

/** A variable, values that it refuses, and what is said of each; a hunter is a secret, which is said of none. */
test.each<[string, readonly string[], RegExp]>([
  ['DATABASE_URL', ['mysql://owner:hunter2@host/db', 'host:5432/db', 'postgres', 'owner:pass@/db'], /^DATABASE_URL /],
  ['DATABASE_URL', ['mysql://owner@/db?host=/run'], /^DATABASE_URL /],
  ['DATABASE_URL', ['postgres://owner:hunter#2@host/db'], /# is written %23/],
  ['DATABASE_URL', ['postgres://owner:8080#hunter@host/db'], /must not hold a #/],
  ['DATABASE_URL', ['postgresql://owner:hunter/2@host/db'], /\/ is %2F/],
  ['DATABASE_URL', ['postgres://owner:hunter2@%zz/db'], /cannot be read/],
  ['DATABASE_URL', ['postgres://owner:hunter2@host:99999/db'], /a port is at most 65535/],
  ['DATABASE_URL', ['"postgres://owner:hunter2@host/db"'], /without quotes/],
  ['DATABASE_URL', ['postgres://owner:hunter%2@host/db'], /% is %25/],
  ['REDIS_URL', ['http://:hunter2@host'], /^REDIS_URL /],
  ['REDIS_URL', ['redis://:hunter?2@host:6379'], /\? is %3F/],
  ['REDIS_URL', ['redis://:100%hunter@host:6379'], /% is %25/],
  ['WEBHOOK_SECRET', ['hunter 2', '.', '..', 'new,old'], /^WEBHOOK_SECRET may hold only/],
  ['WEBHOOK_SECRET_PREVIOUS', ['hunter2/'], /^WEBHOOK_SECRET_PREVIOUS may hold only/],
  ['EVENT_RETENTION_DAYS', ['0', '4000'], /^EVENT_RETENTION_DAYS must be/],
  ['API_BASE_URL', ['https://host:port'], /cannot be read/],
  ['API_BASE_URL', ["'https://host/api'"], /without quotes/],
  ['API_BASE_URL', ['ftp://user:hunter2@host', 'https://host/api?key=hunter2', 'https:host/api?key=hunter2'], /./],
  ['API_BASE_URL', ['https://user:hunter2@host', 'https://user:hunt/er2@host'], /./],
  ['PUBLIC_URL', ['ftp://user:hunter2@host', 'https://user:hunter2@host/path', 'https://hunter2@host'], /./],
  ['PUBLIC_URL', ['https:user:hunter2@host', 'https:\\\\user:hunter2@host', 'https://user:pass@hunter2@host'], /./],
  ['PUBLIC_URL', ['user:hunter2@host', 'https://user:hunter2/x@host'], /./],
  ['NOTIFY_TARGETS', ['x=slack:https:user:hunter2@host'], /./],
  ['API_KEY', ['hunt\ner2', 'hunter 2', 'huntér2', 'hunter2\r\nX: y'], /^API_KEY has spaces, line breaks or letters/],
  ['API_KEY', ['"hunter2hunter2"'], /without quotes/],
  ['ADMIN_TOKEN', ["'hunter2-hunter2-hunter2'"], /without quotes/],
  ['ENCRYPTION_KEY', [`"${'hunter2'.repeat(6)}"`], /without quotes/],
  ['ENCRYPTION_KEY', ['hunter2'], /^ENCRYPTION_KEY must have at least 32 characters/],
  ['PORT', ['"3000"'], /without quotes/],
  ['PORT', ['-1', '65536', '80.5', '0x50', '8 0', '1e3'], /^PORT must be/],
  // What is no secret is shown.
  ['PORT', ['http'], /"http"/],
  [
    'RETENTION_DAYS',
    ['365', 'texts', 'texts=', 'texts=6', 'texts=0', 'texts=-90', 'texts=1e2', 'texts=36501', 'texts=90,', 'calls=90'],
    /must be kinds with days, such as texts=365,transcripts=90: each of .* at most once, and from 7 to 36500 days \(it is "/,
  ],
  ['RETENTION_DAYS', ['texts=90,transcripts=90,texts=30'], /at most once/],
  ...['PUBLIC_URL', 'API_BASE_URL'].flatMap((name): [string, string[], RegExp][] => [
    [name, ['http://host/?k=v', 'http://host/in#x', 'http://host/?', 'http://host#'], /end with its path.* \? or #/],
    [name, ['nowhere?k=v'], /begins with http:\/\//],
  ]),
])('%s may not be one of %j: %s', (name, values, says) => {
  for (const value of values) {
    const problems = problemsOf({ [name]: value });
    expect(problems, value).toEqual([expect.stringMatching(says)]);
    expect(problems[0]).toMatch(new RegExp(`^${name}\\b`));
    expect(problems[0]).not.toContain('hunt');
  }
});

test('whoever has no Postgres learns that `npm start` brings one', () => {
  const [problem] = problemsOf({}, { needed: ['DATABASE_URL'] });
  expect(problem).toMatch(
    /^DATABASE_URL is missing: .* `npm start` runs an embedded Postgres 18, which commands find by `DATA_DIR`\.$/,
  );
});

const shop = { PORT: '8080', PUBLIC_URL: 'https://trunkline.example' };
/** What is given, and what is said of its weakness. */
test.each<[Environment, RegExp | undefined]>([
  [{}, undefined],
  [{ WEBHOOK_SECRET: 'hunter2' }, /^WEBHOOK_SECRET has 7 characters/],
  [{ WEBHOOK_SECRET: 's'.repeat(16), WEBHOOK_SECRET_PREVIOUS: 'old' }, /^WEBHOOK_SECRET_PREVIOUS has 3 characters/],
  [shop, /^PORT and a public PUBLIC_URL are set, but HOST is not/],
  [{ ...shop, HOST: '127.0.0.1' }, undefined],
  [{ ...shop, PUBLIC_URL: 'http://localhost:8080' }, undefined],
  [{ PUBLIC_URL: shop.PUBLIC_URL }, undefined],
])('the weakness of %j: %s', (given, says) => {
  const weaknesses = weaknessesOf(readSettings(given));
  expect(weaknesses).toEqual(says === undefined ? [] : [expect.stringMatching(says)]);
  expect(weaknesses.join()).not.toContain('hunter2');
});

describe('pages', () => {
  const given = (isServed: boolean, name: string, values: string) =>
    values.split(' ').map((value): [boolean, Environment] => [isServed, { [name]: value }]);

  test.each([
    ...given(true, 'HOST', '127.0.0.1 127.1.2.3 localhost ::1'),
    ...given(false, 'HOST', '0.0.0.0 :: 10.0.0.1 trunkline.example 127.trunkline.example localhost.example'),
    ...given(true, 'PUBLIC_URL', 'http://127.0.0.1:3000 http://localhost/in https://[::1]:3000'),
    ...given(false, 'PUBLIC_URL', 'https://trunkline.example.com http://10.0.0.1 https://127.0.0.1.example'),
    ...given(false, 'PUBLIC_URL', 'http://localhost.example'),
  ])('need no token, %s, with %j, where a proxy of this machine may stand', (isServed, given) => {
    if (given.HOST !== undefined) expect(isLoopback(given.HOST)).toBe(isServed);
    expect(problemsOf(given, pages)).toEqual(isServed ? [] : [expect.stringMatching(/^ADMIN_TOKEN is missing/)]);
    expect(problemsOf(given, { ...pages, makesToken: given.HOST === undefined })).toHaveLength(
      isServed || given.HOST === undefined ? 0 : 1,
    );
    expect(problemsOf(given)).toEqual([]);
    expect(problemsOf({ ...given, ADMIN_TOKEN: 'long-enough-a-token' }, pages)).toEqual([]);
  });

  test.each([{}, { HOST: '0.0.0.0' }, { PUBLIC_URL: 'https://trunkline.example.com' }])(
    'refuse a token that might be guessed, with %j',
    (given) => {
      const weak = 'fifteen-letters';
      for (const makesToken of [true, false]) {
        const problems = problemsOf({ ...given, ADMIN_TOKEN: weak }, { ...pages, makesToken });
        expect(problems).toEqual([expect.stringMatching(/^ADMIN_TOKEN has 15 characters/)]);
        expect(problems[0]).not.toContain(weak);
      }
      expect(problemsOf({ ...given, ADMIN_TOKEN: `${weak}.` }, pages)).toEqual([]);
      expect(problemsOf({ ...given, ADMIN_TOKEN: weak })).toEqual([]);
    },
  );
});

describe('targets', () => {
  const whsec = `whsec_${'+'.repeat(32)}`;

  test.each([
    ['support=https://x.example/hunter2', /^NOTIFY_TARGETS must be targets .*: support is none$/],
    ['slack:https://x.example/hunter2', /^NOTIFY_TARGETS must be targets .* separated by blanks$/],
    [`crm=https://u:hunter2@x.example#${whsec}`, /: crm is none$/],
    ['crm=https://x.example#whsec_hunter2', /: crm is none$/],
    ['x=slack:https:user:hunter2@host', /: x is none$/],
    ['x=slack:https://owner:hunter2@slack.example', /: x is none$/],
    ['a=slack:https://x.example a=slack:https://hunter2.example', /once: a is there twice$/],
    ['office=smtps://owner:hunter2@mail.example', /: office is none$/],
    ['office=smtp://mail.example?to=a@b.example,hunter2', /: office is none$/],
    ['office=smtp://mail.example?to=a@b.example&from=hunter2', /: office is none$/],
    ['office=smtp://owner:hunter/2@mail.example?to=a@b.example', /: office is none$/],
    ['office=mailto:hunter2@b.example', /: office is none$/],
  ])('are not made of %s', (written, problem) => {
    const problems = problemsOf({ NOTIFY_TARGETS: written });
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(problems.join()).not.toContain('hunter2');
  });

  test('have names, and those of alerts are named', () => {
    const written = `support=slack:https://hooks.example/x
      office=smtp://mail.example:587?to=a+b@b.example,c@d.example crm=https://crm.example/in?a=1#${whsec}
      boss=smtps://me%40x.example:p+w@mail.example/?to=boss@b.example&from=Trunkline%20%3Cme@x.example%3E`;
    const { targets, alerts } = readSettings({ NOTIFY_TARGETS: written, NOTIFY_ALERTS: 'support, office' }).notify;
    expect(alerts).toEqual(['support', 'office']);
    const from = 'Trunkline <me@x.example>';
    expect([...targets]).toEqual([
      ['support', { kind: 'slack', url: 'https://hooks.example/x' }],
      [
        'office',
        {
          kind: 'email',
          to: ['a+b@b.example', 'c@d.example'],
          smtpUrl: 'smtp://mail.example:587',
          from: 'a+b@b.example',
        },
      ],
      ['crm', { kind: 'webhook', url: 'https://crm.example/in?a=1', secret: whsec }],
      ['boss', { kind: 'email', to: ['boss@b.example'], smtpUrl: 'smtps://me%40x.example:p%2Bw@mail.example/', from }],
    ]);
  });

  test.each([{}, { NOTIFY_TARGETS: 'support=slack:https://x.example' }])('of alerts are declared, with %j', (given) => {
    expect(problemsOf({ ...given, NOTIFY_ALERTS: 'support,nobody' })).toContain(
      'NOTIFY_ALERTS names nobody, which NOTIFY_TARGETS lacks',
    );
    expect(problemsOf({ ...given, NOTIFY_ALERTS: 'slack:https://x.example/hunter2' })).not.toContain('hunter2');
    expect(readSettings(given).notify.alerts).toEqual([]);
  });
});

test('every variable is told with its default and a meaning', () => {
  const rows = settingsRows();
  expect(rows.length).toBeGreaterThan(10);
  for (const { name, meaning } of rows) expect(meaning, name).toMatch(/^[A-Z].*\.$/);
  expect(settingsText()).toContain('\nPORT (default: 3000)\n  Port of the receiver; 0 takes a free one.\n');
});

test.each([
  ['postgres://app:hunter2@db.example/app', 'db.example'],
  ['postgres://app:hunter2@db.example/app?sslmode=disable', 'db.example'],
  ['postgres://app:hunter2@10.0.0.7:5433/app', '10.0.0.7'],
  ['postgres://app:hunter2@ignored/app?host=db.example', 'db.example'],
  ['postgres://app:hunter2@db.example/app?sslmode=verify-full', undefined],
  ['postgres://app:hunter2@db.example/app?sslmode=no-verify', undefined],
  ['postgres://app:hunter2@db.example/app?ssl=true', undefined],
  ['postgres://app:hunter2@127.0.0.1/app', undefined],
  ['postgres://app:hunter2@[::1]/app', undefined],
  ['postgres://app:hunter2@localhost/app', undefined],
  ['postgres://app:hunter2@/app?host=/run/postgresql', undefined],
])('a connection that is not encrypted is a weakness unless it stays on the machine: %s', (address, host) => {
  expect(plainTextHost(address)).toBe(host);
  const weaknesses = weaknessesOf(readSettings({ DATABASE_URL: address }));
  const expected = host === undefined ? [] : [expect.stringContaining(`Postgres at ${host} is not encrypted`)];
  expect(weaknesses).toEqual(expected);
  expect(weaknesses.join()).not.toContain('hunter2');
});

test.each([
  ['https://phones.example', 'https://phones.example/sends/1'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/sends/1'],
  // A proxy forwards what is below it, where there are hooks alone.
  ['https://example.com/phones', undefined],
  [undefined, undefined],
])('with PUBLIC_URL %s, a page is at %s', (publicUrl, page) => {
  expect(pageUrl(publicUrl, '/sends/1')).toBe(page);
});
