import { describe, expect, test } from 'vitest';
import {
  isLoopback,
  plainTextHost,
  readSettings,
  SettingsError,
  settingsTable,
  weaknessesOf,
} from '../../config/settings.ts';

function problemsOf(...given: Parameters<typeof readSettings>): readonly string[] {
  try {
    readSettings(...given);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

test('an empty environment has usable settings', () => {
  expect(readSettings({})).toMatchObject({
    receiver: { host: '127.0.0.1', port: 3000, secret: undefined },
    databaseUrl: undefined,
    redisUrl: undefined,
    dataDir: '.data',
    timeZone: 'UTC',
    isTimeZoneSet: false,
    logLevel: 'info',
    eventRetentionDays: 30,
  });
});

test('an empty variable counts as not set', () => {
  const names = [
    'API_BASE_URL',
    'API_KEY',
    'DATABASE_URL',
    'REDIS_URL',
    'PORT',
    'HOST',
    'LOG_LEVEL',
    'TIME_ZONE',
    'WEBHOOK_SECRET',
  ];
  expect(readSettings(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readSettings({}));
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

test('an address that Kubernetes sets for a service of that name is no port', () => {
  const linked = { WORKER_PORT: 'tcp://10.96.0.12:80', PORT: 'tcp://10.96.0.12:80' };
  expect(readSettings(linked)).toEqual(readSettings({}));
});

test('all problems come at once, each with its variable', () => {
  const problems = problemsOf(
    {
      API_BASE_URL: 'not an address',
      DATABASE_URL: 'mysql://x/y',
      REDIS_URL: 'http://x',
      PORT: '99999',
      LOG_LEVEL: 'loud',
      TIME_ZONE: 'Nowhere/Land',
      EVENT_RETENTION_DAYS: '0',
      WEBHOOK_SECRET: 'with spaces',
      HOST: '0.0.0.0',
    },
    { needed: ['API_KEY'], servesPages: true },
  );
  const named = problems.map((problem) => problem.split(' ')[0]);
  expect(named.sort()).toEqual([
    'ADMIN_TOKEN',
    'API_BASE_URL',
    'API_KEY',
    'DATABASE_URL',
    'EVENT_RETENTION_DAYS',
    'LOG_LEVEL',
    'PORT',
    'REDIS_URL',
    'TIME_ZONE',
    'WEBHOOK_SECRET',
  ]);
});

describe('a message', () => {
  test.each([
    ['DATABASE_URL', 'mysql://owner:hunter2@host/db'],
    ['REDIS_URL', 'http://:hunter2@host'],
    ['WEBHOOK_SECRET', 'hunter 2'],
    ['WEBHOOK_SECRET_PREVIOUS', 'hunter2/'],
    ['API_BASE_URL', 'ftp://user:hunter2@host'],
    ['PUBLIC_URL', 'ftp://user:hunter2@host'],
    ['API_BASE_URL', 'https://host/api?key=hunter2'],
    ['API_BASE_URL', 'https:host/api?key=hunter2'],
    ['API_BASE_URL', 'https://user:hunter2@host'],
    ['API_BASE_URL', 'https://user:hunt/er2@host'],
    ['PUBLIC_URL', 'https://user:hunter2@host/path'],
    ['PUBLIC_URL', 'https://hunter2@host'],
    ['PUBLIC_URL', 'https:user:hunter2@host'],
    ['PUBLIC_URL', 'https:\\\\user:hunter2@host'],
    ['PUBLIC_URL', 'https://user:pass@hunter2@host'],
    ['PUBLIC_URL', 'user:hunter2@host'],
    ['PUBLIC_URL', 'https://user:hunter2/x@host'],
    ['NOTIFY_SLACK_URL', 'https:user:hunter2@host'],
    ['NOTIFY_WEBHOOK_URL', 'https://user:hunter2@host'],
    ['NOTIFY_SMTP_URL', 'http://user:hunter2@host'],
    ['NOTIFY_TARGETS', 'x=slack:https:user:hunter2@host'],
  ])('about %s = %j names the variable, and not its secret', (name, value) => {
    const problems = problemsOf({ [name]: value }).join('\n');
    expect(problems).toContain(name);
    expect(problems).not.toContain('hunter');
  });

  test.each([
    ['DATABASE_URL', 'postgres://owner:hunter#2@host/db', '# is written %23'],
    ['DATABASE_URL', 'postgres://owner:8080#hunter@host/db', 'must not hold a #'],
    ['DATABASE_URL', 'postgresql://owner:hunter/2@host/db', '/ is %2F'],
    ['REDIS_URL', 'redis://:hunter?2@host:6379', '? is %3F'],
    ['DATABASE_URL', 'postgres://owner:hunter2@%zz/db', 'cannot be read'],
    ['API_BASE_URL', 'https://host:port', 'cannot be read'],
    ['DATABASE_URL', 'postgres://owner:hunter2@host:99999/db', 'a port is at most 65535'],
    ['DATABASE_URL', '"postgres://owner:hunter2@host/db"', 'without quotes'],
    ['DATABASE_URL', 'postgres://owner:hunter%2@host/db', '% is %25'],
    ['REDIS_URL', 'redis://:100%hunter@host:6379', '% is %25'],
    ['API_BASE_URL', "'https://host/api'", 'without quotes'],
    ['API_KEY', '"hunter2hunter2"', 'without quotes'],
    ['ADMIN_TOKEN', "'hunter2-hunter2-hunter2'", 'without quotes'],
    ['ENCRYPTION_KEY', `"${'hunter2'.repeat(6)}"`, 'without quotes'],
    ['PORT', '"3000"', 'without quotes'],
  ])('about %s = %j says what is to be written another way', (name, value, cure) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} `))]);
    expect(problems.join()).toContain(cure);
    expect(problems.join()).not.toContain('hunter');
  });

  test('about a value that is no secret shows it', () => {
    expect(problemsOf({ PORT: 'http' }).join()).toContain('"http"');
  });
});

describe('RETENTION_DAYS', () => {
  test.each([
    ['texts=365', { texts: 365 }],
    ['texts=365,transcripts=90,recordings=7', { texts: 365, transcripts: 90, recordings: 7 }],
    [' recordings = 36500 , texts=30\n', { recordings: 36_500, texts: 30 }],
  ])('is read from %j', (RETENTION_DAYS, retentionDays) => {
    expect(readSettings({ RETENTION_DAYS })).toMatchObject({ retentionDays });
  });

  test('limits nothing by default', () => {
    expect(readSettings({ RETENTION_DAYS: '' }).retentionDays).toEqual({});
  });

  test.each([
    '365',
    'texts',
    'texts=',
    'texts=6',
    'texts=0',
    'texts=-90',
    'texts=1e2',
    'texts=36501',
    'texts=90,',
    'calls=90',
  ])('is refused as %j, with what may be written instead', (RETENTION_DAYS) => {
    expect(problemsOf({ RETENTION_DAYS })).toEqual([
      'RETENTION_DAYS must be kinds with days, such as texts=365,transcripts=90: each of texts, transcripts, recordings at most once, ' +
        `and from 7 to 36500 days (it is ${JSON.stringify(RETENTION_DAYS)})`,
    ]);
  });

  test('is refused with a kind named twice', () => {
    expect(problemsOf({ RETENTION_DAYS: 'texts=90,transcripts=90,texts=30' })).toHaveLength(1);
  });
});

describe('a database is named', () => {
  test.each([
    'postgres://owner:pass%40word@host:5432/db',
    'postgresql://owner:pass@host/db?sslmode=verify-full&channel_binding=require',
    'postgresql://owner:pass@[::1]:5432/db',
    'postgresql:///db?host=/run/postgresql&user=owner',
    'postgresql://owner:pass@%2Frun%2Fpostgresql/db',
    'postgresql://owner:pass@/db?host=/cloudsql/project:region:instance',
  ])('by %s', (DATABASE_URL) => {
    expect(readSettings({ DATABASE_URL }).databaseUrl).toBe(DATABASE_URL);
  });

  test.each(['host:5432/db', 'postgres', 'mysql://owner@/db?host=/run', 'owner:pass@/db'])(
    'not by %s',
    (DATABASE_URL) => {
      expect(problemsOf({ DATABASE_URL })).toHaveLength(1);
    },
  );
});

test('whoever has no Postgres learns that `npm start` brings one', () => {
  const [problem] = problemsOf({}, { needed: ['DATABASE_URL'] });
  expect(problem).toMatch(/^DATABASE_URL is missing: .* Run `npm start` here, which brings one along, or set it\.$/);
});

test('an encryption key that is short is refused, and not shown', () => {
  const [problem] = problemsOf({ ENCRYPTION_KEY: 'hunter2' });
  expect(problem).toMatch(/^ENCRYPTION_KEY must have at least 32 characters/);
  expect(problem).not.toContain('hunter2');
});

test.each(['hunt\ner2', 'hunter 2', 'huntér2', 'hunter2\r\nX: y'])(
  'an API key of %j is refused, since no header can carry it, and is not shown',
  (API_KEY) => {
    const [problem, ...others] = problemsOf({ API_KEY });
    expect(problem).toMatch(/^API_KEY has spaces, line breaks or letters/);
    expect(problem).not.toContain('hunt');
    expect(others).toEqual([]);
  },
);

test.each(['.', '..'])('a webhook secret %s, which no address can hold, is refused', (secret) => {
  expect(problemsOf({ WEBHOOK_SECRET: secret })).toEqual([expect.stringMatching(/^WEBHOOK_SECRET may hold only/)]);
});

test('a webhook secret that can be guessed is warned of, and not shown', () => {
  const [weakness, ...others] = weaknessesOf(readSettings({ WEBHOOK_SECRET: 'hunter2' }));
  expect(weakness).toMatch(/^WEBHOOK_SECRET has 7 characters/);
  expect(weakness).not.toContain('hunter2');
  expect(others).toEqual([]);
  const previous = weaknessesOf(readSettings({ WEBHOOK_SECRET: 's'.repeat(16), WEBHOOK_SECRET_PREVIOUS: 'old' }));
  expect(previous).toEqual([expect.stringMatching(/^WEBHOOK_SECRET_PREVIOUS has 3 characters/)]);
  expect(weaknessesOf(readSettings({}))).toEqual([]);
});

test('a port that only this machine reaches, behind a public address, is warned of', () => {
  const warnings = (given: Record<string, string>) => weaknessesOf(readSettings(given));
  const given = { PORT: '8080', PUBLIC_URL: 'https://trunkline.example' };
  expect(warnings(given)).toEqual([expect.stringMatching(/^PORT and a public PUBLIC_URL are set, but HOST is not/)]);
  expect(warnings({ ...given, HOST: '127.0.0.1' })).toEqual([]);
  expect(warnings({ ...given, PUBLIC_URL: 'http://localhost:8080' })).toEqual([]);
  expect(warnings({ PUBLIC_URL: given.PUBLIC_URL })).toEqual([]);
});

test.each(['0', '65535', '8080'])('a port of %s is taken', (PORT) => {
  expect(readSettings({ PORT }).receiver.port).toBe(Number(PORT));
});

test.each(['-1', '65536', '80.5', '0x50', '8 0', '1e3'])('a port of %j is refused', (PORT) => {
  expect(problemsOf({ PORT })).toHaveLength(1);
});

describe.each(['PUBLIC_URL', 'API_BASE_URL'])('%s is what paths are appended to', (name) => {
  test.each(['http://host/?k=v', 'http://host/in#x', 'http://host/?', 'http://host#'])(
    'so that %s is none',
    (address) => {
      expect(problemsOf({ [name]: address })).toEqual([
        expect.stringMatching(new RegExp(`^${name} must end with its path.* \\? or #`)),
      ]);
    },
  );

  test('and what is no address at all is told of once', () => {
    expect(problemsOf({ [name]: 'nowhere?k=v' })).toEqual([expect.stringContaining('begins with http://')]);
  });
});

test.each([
  ['require', 'verify-full'],
  ['prefer', 'verify-full'],
  ['verify-ca', 'verify-full'],
  ['verify-full', 'verify-full'],
  ['no-verify', 'no-verify'],
  ['disable', 'disable'],
  ['require&uselibpqcompat=true', 'require&uselibpqcompat=true'],
])('sslmode=%s of the database is what the driver makes of it: %s', (given, mode) => {
  const url = (sslmode: string) => `postgres://host/db?application_name=x&sslmode=${sslmode}`;
  expect(readSettings({ DATABASE_URL: url(given) }).databaseUrl).toBe(url(mode));
});

test.each([
  ['https://host/api/public/v1', 'https://host'],
  ['https://host/api/public/v1/', 'https://host'],
  ['https://host/in/API/public', 'https://host/in'],
])('the path of the API is left out of %s, and that is said', (given, used) => {
  const settings = readSettings({ API_BASE_URL: given });
  expect(settings.api.baseUrl).toBe(used);
  expect(weaknessesOf(settings).join()).toContain('ends with the path of the API');
});

test.each(['https://host', 'https://host/in/', 'https://host/api', 'https://host/api/public/v1/users'])(
  'the address %s is used as it is',
  (given) => {
    const settings = readSettings({ API_BASE_URL: given });
    expect([settings.api.baseUrl, weaknessesOf(settings)]).toEqual([given, []]);
  },
);

test('slashes at the end of the public address do not stand in the hooks', () => {
  expect(readSettings({ PUBLIC_URL: 'https://hooks.example/in//' }).receiver.publicUrl).toBe(
    'https://hooks.example/in',
  );
});

describe('pages without a token', () => {
  test.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])('are served on %s', (HOST) => {
    expect(isLoopback(HOST)).toBe(true);
    expect(problemsOf({ HOST }, { servesPages: true })).toEqual([]);
  });

  test.each(['0.0.0.0', '::', '10.0.0.1', 'trunkline.example', '127.trunkline.example', 'localhost.example'])(
    'are refused on %s',
    (HOST) => {
      expect(problemsOf({ HOST }, { servesPages: true })).toHaveLength(1);
    },
  );

  test('are served anywhere with one', () => {
    expect(problemsOf({ HOST: '0.0.0.0', ADMIN_TOKEN: 'long-enough-a-token' }, { servesPages: true })).toEqual([]);
  });

  test.each(['http://127.0.0.1:3000', 'http://localhost/in', 'https://[::1]:3000'])(
    'are served where PUBLIC_URL is %s',
    (PUBLIC_URL) => {
      expect(problemsOf({ PUBLIC_URL }, { servesPages: true })).toEqual([]);
    },
  );

  test.each([
    'https://trunkline.example.com',
    'http://10.0.0.1',
    'https://127.0.0.1.example',
    'http://localhost.example',
  ])('are refused where PUBLIC_URL is %s, since a proxy of this machine may stand there', (PUBLIC_URL) => {
    expect(problemsOf({ PUBLIC_URL }, { servesPages: true })).toEqual([
      expect.stringMatching(/^ADMIN_TOKEN is missing/),
    ]);
    expect(problemsOf({ PUBLIC_URL }, { servesPages: true, makesToken: true })).toEqual([]);
    expect(problemsOf({ PUBLIC_URL })).toEqual([]);
  });
});

describe('a token that might be guessed', () => {
  const weak = 'fifteen-letters';

  test.each([{ HOST: '0.0.0.0' }, { PUBLIC_URL: 'https://trunkline.example.com' }])('is refused with %j', (given) => {
    for (const makesToken of [true, false]) {
      const problems = problemsOf({ ...given, ADMIN_TOKEN: weak }, { servesPages: true, makesToken });
      expect(problems).toEqual([expect.stringMatching(/^ADMIN_TOKEN has 15 characters/)]);
      expect(problems[0]).not.toContain(weak);
    }
    expect(problemsOf({ ...given, ADMIN_TOKEN: `${weak}.` }, { servesPages: true })).toEqual([]);
  });

  test('is refused where only this machine seems to reach it too, since a proxy may stand there', () => {
    expect(problemsOf({ ADMIN_TOKEN: weak }, { servesPages: true })).toEqual([
      expect.stringMatching(/^ADMIN_TOKEN has 15 characters/),
    ]);
    expect(problemsOf({ ADMIN_TOKEN: weak })).toEqual([]);
  });
});

describe('a target of alerts', () => {
  const whsec = `whsec_${'k'.repeat(32)}`;

  test.each([
    [{ NOTIFY_WEBHOOK_URL: 'https://alerts.example/hunter2' }, /^NOTIFY_WEBHOOK_SECRET is missing, although/],
    [{ NOTIFY_WEBHOOK_SECRET: whsec }, /^NOTIFY_WEBHOOK_URL is missing, although/],
    [{ NOTIFY_SMTP_URL: 'smtps://owner:hunter2@mail.example' }, /^NOTIFY_EMAIL_TO is missing, although/],
    [{ NOTIFY_WEBHOOK_URL: 'https://x.example', NOTIFY_WEBHOOK_SECRET: 'hunter2' }, /whsec_ and the base64/],
    [{ NOTIFY_SLACK_URL: 'https://owner:hunter2@slack.example' }, /^NOTIFY_SLACK_URL must not hold a user/],
    [{ NOTIFY_SMTP_URL: 'https://hunter2', NOTIFY_EMAIL_TO: 'a@b.example' }, /begins with smtp:\/\/ or smtps:/],
    [{ NOTIFY_SMTP_URL: 'smtp://mail.example', NOTIFY_EMAIL_TO: 'a@b.example, c' }, /^NOTIFY_EMAIL_TO must be/],
    [{ NOTIFY_TARGETS: 'support=https://x.example/hunter2' }, /^NOTIFY_TARGETS must be targets .*: support is none$/],
    [{ NOTIFY_TARGETS: `slack:https://x.example/hunter2` }, /^NOTIFY_TARGETS must be targets .* separated by blanks$/],
    [{ NOTIFY_TARGETS: `crm=https://u:hunter2@x.example#${whsec}` }, /: crm is none$/],
    [{ NOTIFY_TARGETS: `a=slack:https://x.example a=slack:https://hunter2.example` }, /once: a is there twice$/],
    [{ NOTIFY_TARGETS: 'office=mailto:a@b.example' }, /^NOTIFY_SMTP_URL is missing, although NOTIFY_TARGETS/],
  ])('is not made of %j', (given, problem) => {
    const problems = problemsOf(given);
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(problems.join()).not.toContain('hunter2');
  });

  test('is made of few variables', () => {
    const given = {
      ...{ NOTIFY_WEBHOOK_URL: 'https://alerts.example/in', NOTIFY_WEBHOOK_SECRET: whsec },
      ...{ NOTIFY_SMTP_URL: 'smtp://mail.example:587', NOTIFY_EMAIL_TO: 'a@b.example, c@d.example' },
    };
    expect(readSettings(given).notify).toEqual({
      webhook: { url: 'https://alerts.example/in', secret: whsec },
      slackUrl: undefined,
      targets: new Map(),
      email: { smtpUrl: 'smtp://mail.example:587', to: ['a@b.example', 'c@d.example'], from: 'a@b.example' },
    });
  });
});

test('targets of rules have names, and need no address of alerts', () => {
  const secret = `whsec_${'+'.repeat(32)}`;
  const { targets, email } = readSettings({
    NOTIFY_SMTP_URL: 'smtp://mail.example:587',
    NOTIFY_TARGETS: `support=slack:https://hooks.example/x\n office=mailto:a@b.example,c@d.example crm=https://crm.example/in?a=1#${secret}`,
  }).notify;
  expect(email).toBeUndefined();
  expect([...targets]).toEqual([
    ['support', { kind: 'slack', url: 'https://hooks.example/x' }],
    [
      'office',
      { kind: 'email', to: ['a@b.example', 'c@d.example'], smtpUrl: 'smtp://mail.example:587', from: 'a@b.example' },
    ],
    ['crm', { kind: 'webhook', url: 'https://crm.example/in?a=1', secret }],
  ]);
});

test('the table has one whole row for every variable', () => {
  const [head, rule, ...rows] = settingsTable().split('\n');
  expect([head, rule]).toEqual(['| variable | without it | meaning |', '|---|---|---|']);
  expect(rows.length).toBeGreaterThan(10);
  for (const row of rows) expect(row).toMatch(/^\| `[A-Z_]+` \| [^|]+ \| [^|]+ \|$/);
  expect(rows.find((row) => row.includes('`PORT`'))).toContain('`3000`');
});

test.each(['DATABASE_URL=postgres://app:hunter2@db.example/app', 'REDIS_URL=rediss://:hunter2@cache.example'])(
  'a file of certificates that cannot be read is said by its name: %s',
  (line) => {
    const [name = '', address = ''] = line.split(/=(.*)/s);
    const [problem, ...others] = problemsOf({ [name]: `${address}?sslrootcert=/nosuch/ca.pem` });
    expect(others).toEqual([]);
    expect(problem).toBe(`${name} names a file that cannot be read: sslrootcert=/nosuch/ca.pem`);
  },
);

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
  expect(weaknesses).toEqual(
    host === undefined ? [] : [expect.stringContaining(`Postgres at ${host} is not encrypted`)],
  );
  expect(weaknesses.join()).not.toContain('hunter2');
});
