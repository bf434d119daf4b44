import { Client } from 'pg';
import { z } from 'zod';
import { UserError } from '../src/shared/errors.ts';
import { isLoopback, isLoopbackUrl } from '../src/shared/proxy.ts';
import { zoneRemedy } from '../src/shared/time-zone.ts';

/** What a variable means. A secret is never printed, not even in an error. */
interface Documented {
  readonly doc: string;
  readonly isSecret?: boolean;
}

const documentation = z.registry<Documented>();

/** Parses an address. For Postgres on a socket, the host may be empty: `postgres://user@/name?host=/run`. */
const parsed = (text: string) => new URL(text.replace(/^(postgres(?:ql)?:\/\/[^/]*@)\//i, '$1socket/'));

/** Why a text isn't an address of these protocols; undefined if it is. Doesn't quote it: it may contain a password. */
function faultOf(text: string, protocols: readonly string[]): string | undefined {
  const begins = protocols.map((each) => `${each}://`);
  if (!begins.some((each) => text.toLowerCase().startsWith(each))) {
    return `must be an address that begins with ${begins.join(' or ')}`;
  }
  try {
    const { hostname, username, password, pathname } = parsed(text);
    // Drivers decode these parts.
    for (const part of [hostname, username, password, pathname]) decodeURIComponent(part);
    return undefined;
  } catch {
    return 'cannot be read as an address: in a password, # is written %23, / is %2F, ? is %3F and % is %25; a port is at most 65535';
  }
}

const url = (...protocols: readonly string[]) =>
  z.string().refine((text) => faultOf(text, protocols) === undefined, {
    error: ({ input }) => faultOf(String(input), protocols),
    abort: true,
  });

/** The address of Postgres or Redis. A # is probably an unescaped part of a password, which would be cut off. */
const store = (...protocols: readonly string[]) =>
  url(...protocols).refine((text) => !text.includes('#'), {
    error: 'must not hold a #: in a password it is written %23',
  });

/** A URL without user and password: `fetch` refuses them, and links and alerts would show them. */
const endpoint = url('http', 'https').refine((text) => parsed(text).username + parsed(text).password === '', {
  error: 'must not hold a user or password, since links and alerts show it: leave away what is before the @',
});

/** An address to which paths are appended. */
const base = endpoint.refine((text) => !/[?#]/.test(text), {
  error: 'must end with its path, since more is appended to it: leave away what begins with ? or #',
});

/** The API's own path (section 9), in whole or in part, which requests add to the base address. */
const apiPath = /\/api\/public(?:\/v1)?\/*$/i;

const integer = (from: number, to: number) =>
  z
    .string()
    .regex(/^\d+$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(
      z
        .number()
        .min(from, { error: `must be at least ${from}` })
        .max(to, { error: `must be at most ${to}` }),
    );

const oneOf = <const Name extends string>(...names: Name[]) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });

const pathPart = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;

const hookSecret = z.string().regex(pathPart, {
  error: 'may hold only A-Z a-z 0-9 . _ ~ -, and not be . or .., since it stands in an address',
});

/** Where messages go: a channel of Slack, people, or a system. Addresses and secrets are never printed. */
export type DeclaredTarget =
  | { readonly kind: 'slack'; readonly url: string }
  | { readonly kind: 'webhook'; readonly url: string; readonly secret: string }
  | { readonly kind: 'email'; readonly to: readonly string[]; readonly smtpUrl: string; readonly from: string };

/** `slack:URL`, `URL#SECRET` of a signed webhook, or `smtps://…?to=ADDRESSES`; undefined for anything else. */
function targetOf(address: string): DeclaredTarget | undefined {
  if (/^smtps?:/.test(address)) return mailTargetOf(address);
  const [slackUrl] = /(?<=^slack:).+/.exec(address) ?? [];
  if (slackUrl !== undefined)
    return endpoint.safeParse(slackUrl).success ? { kind: 'slack', url: slackUrl } : undefined;
  const [url = '', secret = ''] = address.split('#');
  const isWhole = endpoint.safeParse(url).success && /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret);
  return isWhole ? { kind: 'webhook', url, secret } : undefined;
}

function mailTargetOf(address: string): DeclaredTarget | undefined {
  if (faultOf(address, ['smtp', 'smtps']) !== undefined) return undefined;
  // In a query, + means a blank.
  const server = new URL(address.replaceAll('+', '%2B'));
  const to = server.searchParams.getAll('to').flatMap((each) => each.split(','));
  const from = server.searchParams.get('from') ?? to[0] ?? '';
  for (const name of ['to', 'from']) server.searchParams.delete(name);
  const areMailboxes = to.every((each) => /^[^\s@<>]+@[^\s@<>]+$/.test(each)) && /^[^\r\n@]+@[^\r\n@]+$/.test(from);
  return areMailboxes ? { kind: 'email', to, smtpUrl: server.href, from } : undefined;
}

const targetExamples =
  'support=slack:https://…, office=smtps://user:password@host?to=a@example.com or crm=https://…#whsec_… (in a .env, between quotes)';

/** An address, which may contain a password, is none. */
const targetName = /^[a-z][a-z0-9-]{0,30}$/;

const namedTargets = z.string().transform((text, context): ReadonlyMap<string, DeclaredTarget> => {
  const targets = new Map<string, DeclaredTarget>();
  for (const written of text.split(/\s+/)) {
    const [, name = '', address = ''] = /^([a-z][a-z0-9-]{0,30})=(.+)$/.exec(written) ?? [];
    const target = targetOf(address);
    if (target && !targets.has(name)) {
      targets.set(name, target);
      continue;
    }
    const message = target
      ? `must have each name once: ${name} is there twice`
      : `must be targets such as ${targetExamples}, separated by blanks${name && `: ${name} is none`}`;
    context.addIssue({ code: 'custom', message });
  }
  return targets;
});

/** The kinds of content that RETENTION_DAYS limits. */
const retainedKinds = ['texts', 'transcripts', 'recordings'] as const;

type DaysByKind = Partial<Record<(typeof retainedKinds)[number], number>>;

/** For how many days content is kept; a kind that is missing is kept for good. */
export type RetentionDays = Readonly<DaysByKind>;

/** Automatic texts look a week back, and late reads come within a week. */
const shortestRetention = 7;
const longestRetention = 36_500;

const retention = z.string().transform((text, context): DaysByKind => {
  const days: DaysByKind = {};
  for (const part of text.split(',')) {
    const [, name, count] = /^\s*([a-z]+)\s*=\s*(\d+)\s*$/.exec(part) ?? [];
    const kind = retainedKinds.find((each) => each === name);
    const isRange = Number(count) >= shortestRetention && Number(count) <= longestRetention;
    if (kind !== undefined && days[kind] === undefined && isRange) {
      days[kind] = Number(count);
      continue;
    }
    context.addIssue({
      code: 'custom',
      message: `must be kinds with days, such as texts=365,transcripts=90: each of ${retainedKinds.join(', ')} at most once, and from ${shortestRetention} to ${longestRetention} days`,
    });
    return z.NEVER;
  }
  return days;
});

/** Every environment variable: type, default and meaning. `trunkline settings` prints them. */
const variables = z.object({
  API_BASE_URL: base.optional().register(documentation, {
    doc: 'The telephony service. Without it, `start` runs the sandbox.',
  }),
  API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, { error: 'has spaces, line breaks or letters that no header can carry: copy it again' })
    .optional()
    .register(documentation, { doc: 'API key of the account.', isSecret: true }),
  DATABASE_URL: store('postgres', 'postgresql').optional().register(documentation, {
    doc: 'The Postgres that holds the warehouse. Without it, `npm start` runs an embedded Postgres 18, which commands find by `DATA_DIR`.',
    isSecret: true,
  }),
  DATABASE_POOL_SIZE: integer(8, 1_000).prefault('9').register(documentation, {
    doc: 'How many connections to Postgres a `web` or `worker` process opens at most; `start` opens twice as many.',
  }),
  REDIS_URL: store('redis', 'rediss').optional().register(documentation, {
    doc: 'The Redis that holds the queues (`maxmemory-policy noeviction`). Without it, they live in the Postgres.',
    isSecret: true,
  }),
  PUBLIC_URL: base.optional().register(documentation, {
    doc: 'Where the service reaches the receiver: webhooks are registered with it. Without it, the service is polled.',
  }),
  WEBHOOK_SECRET: hookSecret.optional().register(documentation, {
    doc: 'The unguessable part of the receiver’s addresses, `/hooks/{secret}/{type}`. Make one with `openssl rand -hex 24`; `start` makes one and keeps it.',
    isSecret: true,
  }),
  WEBHOOK_SECRET_PREVIOUS: hookSecret
    .optional()
    .register(documentation, { doc: 'Accepted beside `WEBHOOK_SECRET` while it is rotated.', isSecret: true }),
  ENCRYPTION_KEY: z
    .string()
    .min(32, { error: 'must have at least 32 characters; make one with `openssl rand -hex 32`' })
    .optional()
    .register(documentation, {
      doc: 'Seals the links to recordings and attached files in the database; the same in every process. Make one with `openssl rand -hex 32`. Without it, `start` makes one and keeps it, and other processes derive it from `API_KEY`.',
      isSecret: true,
    }),
  ADMIN_TOKEN: z.string().optional().register(documentation, {
    doc: 'Opens every page and action, and the metrics: as password (any user name) or bearer token; at least 16 characters. `start` makes one and keeps it in `DATA_DIR/admin-token`. `web` and `worker` do the same where `HOST` is loopback, and `PUBLIC_URL` is too or is not set; elsewhere they need one.',
    isSecret: true,
  }),
  HOST: z.string().default('127.0.0.1').register(documentation, {
    doc: 'Address that the receiver, the sandbox and the port of a worker bind; `0.0.0.0` on a PaaS.',
  }),
  PORT: integer(0, 65_535)
    .prefault('3000')
    .register(documentation, { doc: 'Port of the receiver; 0 takes a free one.' }),
  WORKER_PORT: integer(0, 65_535).optional().register(documentation, {
    doc: 'Port of a `worker` for `/healthz`, `/readyz` and `/metrics`, at `HOST`; 0 takes a free one. Each worker of a machine needs its own. Without it, workers have none.',
  }),
  DATA_DIR: z.string().default('.data').register(documentation, {
    doc: 'Folder of the embedded Postgres, of the sandbox and of secrets that `start` makes.',
  }),
  RULES_FILE: z.string().default('config/rules.yaml').register(documentation, {
    doc: 'A rules file, applied by a start of a worker and by `migrate` when it changed since it was last applied. A file that cannot be used is refused: the rules applied before stay in force, and mirroring goes on.',
  }),
  REPORTS_DIR: z.string().optional().register(documentation, {
    doc: 'A folder of your own reports: each `.sql` file there is a page of `/reports`, as those of `config/cookbook` are, and replaces one of the same name.',
  }),
  RULES_MODE: oneOf('off', 'dry-run', 'live').default('dry-run').register(documentation, {
    doc: 'What the rules may do: nothing (`off`), everything but the effect (`dry-run`), or act (`live`).',
  }),
  TIME_ZONE: z
    .string()
    .refine((name) => zoneRemedy(name) === undefined, {
      error: ({ input }) => `must be an IANA time zone such as America/New_York. ${zoneRemedy(String(input))}`,
    })
    .optional()
    .register(documentation, {
      doc: 'Time zone of the days in the reports, of the times on pages, and of the business hours and times in rules. Without it, that is UTC, and rules that speak of hours do not act on a real account.',
    }),
  PAGES_WORDS: oneOf('shown', 'hidden').default('shown').register(documentation, {
    doc: 'Whether the pages show what people wrote and said to whoever signed in.',
  }),
  SEARCH_LANGUAGE: z
    .string()
    .regex(/^[a-z_][a-z0-9_]*$/, { error: 'must be a text search configuration of Postgres, such as english' })
    .optional()
    .register(documentation, {
      doc: 'Language of `reporting.search`: a text search configuration of Postgres such as `english`, which finds “refunds” for “refund”. `migrate` sets it; without it, the language stays, at first `simple`: words as they were written.',
    }),
  BI_WORDS: oneOf('hidden', 'shown').default('hidden').register(documentation, {
    doc: 'Whether the views of `reporting`, `reporting.search` and the BI role show what people wrote and said, and what the analysis wrote about it (`shown`), or only figures, names and numbers (`hidden`). A start of a worker applies it.',
  }),
  NOTIFY_TARGETS: namedTargets.optional().register(documentation, {
    doc: 'Whom alerts and rules can tell something, by names of your own, separated by blanks: `support=slack:https://hooks.slack.com/…` (Slack, Mattermost or the like), `office=smtps://user:password@host?to=a@example.com,b@example.com&from=c@example.com` (e-mail; `smtp://` needs STARTTLS), `crm=https://crm.example.com/in#whsec_…` (a webhook, signed as https://www.standardwebhooks.com says; make its secret with `echo whsec_$(openssl rand -base64 32)`).',
    isSecret: true,
  }),
  NOTIFY_ALERTS: z
    .string()
    .transform((text) => [...new Set(text.split(/[\s,]+/))])
    .optional()
    .register(documentation, { doc: 'Names in `NOTIFY_TARGETS` that get alerts, separated by commas.' }),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal')
    .default('info')
    .register(documentation, { doc: 'How much is logged, to standard error.' }),
  BACKFILL_DAYS: integer(0, 366).prefault('90').register(documentation, {
    doc: 'How many days of history the first start fills in by itself, once per database: calls with their artefacts, then the threads of their callers. 0: none.',
  }),
  EVENT_RETENTION_DAYS: integer(1, 3_650).prefault('30').register(documentation, {
    doc: 'How many days deliveries are kept in the inbox.',
  }),
  RETENTION_DAYS: retention.optional().register(documentation, {
    doc: 'How many days the words of texts, the words of transcripts and the links to recordings are kept, such as `texts=365,transcripts=90,recordings=90`; without them, for good. Reports keep their figures.',
  }),
});

export type Variable = keyof typeof variables.shape;

export type Settings = Readonly<ReturnType<typeof grouped>>;

/** The environment is invalid. The message lists every problem with its remedy, and no secret. */
export class SettingsError extends UserError {
  readonly code = 'settings';
  override readonly exitCode = 2;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The settings cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Needs {
  /** Variables that the command requires. */
  readonly needed?: readonly Variable[];
  /** It serves pages, or does so where that variable is set. */
  readonly servesPages?: boolean | Variable;
  /** It generates its own ADMIN_TOKEN. */
  readonly makesToken?: boolean;
}

/** Reads the environment; an empty variable counts as not set. Throws one SettingsError for all problems. */
export function readSettings(
  environment: Environment,
  { needed = [], servesPages = false, makesToken = false }: Needs = {},
): Settings {
  const given = givenIn(environment);
  const quoted = Object.keys(given).filter((name) => /^(["'`])[\s\S]*\1$/.test(given[name] ?? ''));
  const parsing = variables.safeParse(given);
  const arePagesServed = typeof servesPages === 'string' ? given[servesPages] !== undefined : servesPages;
  const problems = [
    ...quoted.map((name) => `${name} must be written without quotes around it`),
    ...(parsing.error?.issues ?? []).flatMap(({ path, message }) =>
      quoted.includes(String(path[0])) ? [] : [`${path.join('.')} ${message}${shownValue(path[0], given)}`],
    ),
    ...needed
      .filter((name) => given[name] === undefined)
      .map((name) => `${name} is missing: ${documentationOf(name).doc}`),
    ...unknownTargets(given).map((name) =>
      targetName.test(name)
        ? `NOTIFY_ALERTS names ${name}, which NOTIFY_TARGETS lacks`
        : 'NOTIFY_ALERTS must be names in NOTIFY_TARGETS, separated by commas',
    ),
    ...(arePagesServed ? tokenProblems(given, makesToken) : []),
  ];
  if (!parsing.success || problems.length > 0) throw new SettingsError(problems);
  return grouped(parsing.data, given);
}

/**
 * Our variables that are set. Secret files and pasted values often end with a line break, which isn't part of the
 * value. Beside a service named "worker", Kubernetes sets WORKER_PORT=tcp://10.0.0.5:80, which isn't a setting.
 */
function givenIn(environment: Environment): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.keys(variables.shape).flatMap((name) => {
      const value = environment[name]?.trim();
      const isOfKubernetes = name.endsWith('PORT') && value?.startsWith('tcp://');
      return value && !isOfKubernetes ? [[name, value]] : [];
    }),
  );
}

function unknownTargets({ NOTIFY_ALERTS: alerts, NOTIFY_TARGETS: targets = '' }: Environment): string[] {
  const declared = targets.split(/\s+/).map((each) => each.split('=', 1)[0]);
  return alerts?.split(/[\s,]+/).filter((name) => !declared.includes(name)) ?? [];
}

/** The problems of ADMIN_TOKEN. Where other machines can reach the pages, only `start` makes one by itself. */
function tokenProblems({ ADMIN_TOKEN: token, HOST: host, PUBLIC_URL: publicUrl }: Environment, makesToken: boolean) {
  const remedy = 'make one with `openssl rand -hex 24`';
  if (token !== undefined) {
    if (token.length >= shortestUnguessed) return [];
    return [
      `ADMIN_TOKEN has ${token.length} characters and might be guessed: it must have at least ${shortestUnguessed}; ${remedy}`,
    ];
  }
  const isPublic = publicUrl !== undefined && !isLoopbackUrl(publicUrl);
  if (makesToken || (isLoopback(host) && !isPublic)) return [];
  const why = isLoopback(host) ? 'with a PUBLIC_URL' : 'with HOST other than loopback';
  return [`ADMIN_TOKEN is missing: ${why}, the status page must not be open to everybody; ${remedy}`];
}

/** The settings of a process, grouped by purpose. */
function grouped(read: z.output<typeof variables>, given: Environment) {
  return {
    api: { baseUrl: read.API_BASE_URL?.replace(apiPath, ''), key: read.API_KEY },
    encryptionKey: read.ENCRYPTION_KEY,
    databaseUrl: read.DATABASE_URL && withPlainSslMode(read.DATABASE_URL),
    /** Maximum of connections to Postgres per process. */
    poolSize: read.DATABASE_POOL_SIZE,
    redisUrl: read.REDIS_URL,
    receiver: {
      host: read.HOST,
      port: read.PORT,
      /** A platform that gives a PORT sends requests from other machines, which don't reach loopback. */
      hasPortAlone: given.PORT !== undefined && read.PORT !== 0 && given.HOST === undefined,
      publicUrl: read.PUBLIC_URL?.replace(/\/+$/, ''),
      secret: read.WEBHOOK_SECRET,
      /** Accepted too, while the secret is rotated. */
      previousSecret: read.WEBHOOK_SECRET_PREVIOUS,
      adminToken: read.ADMIN_TOKEN,
    },
    /** Undefined: workers listen nowhere. */
    workerPort: read.WORKER_PORT,
    dataDir: read.DATA_DIR,
    rulesFile: read.RULES_FILE,
    reportsDir: read.REPORTS_DIR,
    rulesMode: read.RULES_MODE,
    timeZone: read.TIME_ZONE ?? 'UTC',
    /** Time zone of the hours in rules. While nobody has chosen one, rules that speak of hours don't act. */
    hoursZone: read.TIME_ZONE,
    /** Whether pages show what people wrote and said. */
    arePageWordsShown: read.PAGES_WORDS === 'shown',
    /** A text search configuration; undefined keeps the one in use. */
    searchLanguage: read.SEARCH_LANGUAGE,
    areBiWordsShown: read.BI_WORDS === 'shown',
    logLevel: read.LOG_LEVEL as string,
    /** 0: the first start fills in nothing. */
    backfillDays: read.BACKFILL_DAYS,
    /** For how many days deliveries stay in the inbox. */
    deliveryDays: read.EVENT_RETENTION_DAYS,
    /** Empty: all content is kept. */
    retentionDays: read.RETENTION_DAYS ?? {},
    /** The targets of alerts and rules by name, and the names of those that get alerts. */
    notify: { targets: read.NOTIFY_TARGETS ?? new Map<string, DeclaredTarget>(), alerts: read.NOTIFY_ALERTS ?? [] },
  };
}

/** Minimum length, in characters, of a secret that can't be guessed. */
const shortestUnguessed = 16;

/** Warnings about settings that are insecure or of no effect: a sentence each, with its remedy and no secret. */
export function weaknessesOf({ api, receiver, databaseUrl }: Settings): string[] {
  const { publicUrl, secret, previousSecret, hasPortAlone } = receiver;
  const isPublic = publicUrl !== undefined && !isLoopbackUrl(publicUrl);
  const isServiceElsewhere = api.baseUrl !== undefined && !isLoopbackUrl(api.baseUrl);
  const guessable = Object.entries({ WEBHOOK_SECRET: secret, WEBHOOK_SECRET_PREVIOUS: previousSecret }).filter(
    ([, each]) => each !== undefined && each.length < shortestUnguessed,
  );
  const host = plainTextHost(databaseUrl);
  const weaknesses = [
    ...guessable.map(
      ([name, each]) =>
        `${name} has ${each?.length} characters: who guesses it can make the daemon read what never happened. Make one with \`openssl rand -hex 24\`.`,
    ),
    isPublic &&
      hasPortAlone &&
      'PORT and a public PUBLIC_URL are set, but HOST is not: only this machine can reach the receiver. On a platform set HOST=0.0.0.0; behind a proxy on this machine set HOST=127.0.0.1, and this warning ends.',
    publicUrl !== undefined &&
      !isPublic &&
      isServiceElsewhere &&
      'PUBLIC_URL is a loopback address, which the service cannot reach. Set it to one that is reachable from the internet, through a tunnel if need be.',
    host !== undefined &&
      `The connection to Postgres at ${host} is not encrypted: whoever is on the way reads the password and all data. Append sslmode=verify-full to DATABASE_URL, with sslrootcert=FILE where its certificate authority is your own.`,
  ];
  return weaknesses.filter((each) => each !== false);
}

/**
 * The modes that the driver treats as verify-full. It warns of them at every start, because a later version may not.
 */
const likeVerifyFull = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Replaces such a mode by verify-full. So a later driver behaves the same, and this one doesn't warn. */
export function withPlainSslMode(databaseUrl: string): string {
  // With libpq's meaning of the modes, the driver keeps them apart.
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(databaseUrl)) return databaseUrl;
  return databaseUrl.replace(likeVerifyFull, '$1verify-full');
}

/** The host of a Postgres that is reached without TLS. Undefined when the connection stays on this machine. */
export function plainTextHost(databaseUrl: string | undefined): string | undefined {
  if (databaseUrl === undefined) return undefined;
  // The driver itself interprets the URL and PGSSLMODE.
  const { host, ssl } = new Client({ connectionString: databaseUrl });
  return ssl || host.startsWith('/') || isLoopback(host) ? undefined : host;
}

/** Every variable, in the order of the list: its default (null when there is none) and its meaning. */
export function settingsRows() {
  const defaults: Partial<Record<string, unknown>> = variables.parse({});
  return (Object.keys(variables.shape) as Variable[]).map((name) => {
    const { doc, isSecret = false } = documentationOf(name);
    return { name, fallback: defaults[name] ?? null, meaning: doc, isSecret };
  });
}

/** The settings in words: the name, its default, and below them what it means. */
export function settingsText(): string {
  return settingsRows()
    .map(({ name, fallback, meaning }) => `${name}${fallback === null ? '' : ` (default: ${fallback})`}\n  ${meaning}`)
    .join('\n');
}

function documentationOf(name: Variable): Documented {
  return documentation.get(variables.shape[name]) ?? { doc: '' };
}

/** The value for an error message. Empty for a secret, and for an address, which may contain a password. */
function shownValue(name: PropertyKey | undefined, given: Environment): string {
  const value = given[String(name)] ?? '';
  const isPrivate = documentation.get(variables.shape[name as Variable])?.isSecret || /[:@]/.test(value);
  return isPrivate ? '' : ` (it is ${JSON.stringify(value)})`;
}

/** The address of a page by PUBLIC_URL. Undefined where that has a path: below it there are hooks alone. */
export function pageUrl(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl === undefined || new URL(publicUrl).pathname !== '/' ? undefined : new URL(path, publicUrl).href;
}
