import { accessSync, constants } from 'node:fs';
import { Client } from 'pg';
import { z } from 'zod';
import { UserError } from '../src/shared/errors.ts';
import { zoneRemedy } from '../src/shared/time-zone.ts';

/** The documentation of a variable, for the table of settings in the docs. */
interface Documented {
  readonly doc: string;
  /** The value is never printed, not even in an error. */
  readonly isSecret?: boolean;
  /** What happens without it, when the schema has no default. */
  readonly otherwise?: string;
  /** What to do when it is missing. */
  readonly remedy?: string;
}

const documentation = z.registry<Documented>();

const url = (protocols: readonly string[], parsed: (text: string) => string = (text) => text) =>
  z.string().refine((text) => protocols.includes(protocolOf(parsed(text)) ?? ''), {
    error: ({ input }) => faultOf(String(input), protocols),
    abort: true,
  });

/** The protocol of a URL; undefined when it cannot be parsed, or has an escape that drivers cannot decode. */
function protocolOf(text: string): string | undefined {
  try {
    const { protocol, hostname, username, password, pathname } = new URL(text);
    for (const part of [hostname, username, password, pathname]) decodeURIComponent(part);
    return protocol;
  } catch {
    return undefined;
  }
}

/** What is wrong with a URL. Quotes no part of it: it may contain a password. */
function faultOf(text: string, protocols: readonly string[]): string {
  const begins = protocols.map((each) => `${each}//`);
  if (!begins.some((each) => text.startsWith(each))) {
    return `must be an address that begins with ${begins.join(' or ')}`;
  }
  return 'cannot be read as an address: in a password, # is written %23, / is %2F, ? is %3F and % is %25; a port is at most 65535';
}

/** The URL of Postgres or Redis. It has no fragment, so a # is an unescaped part of a password, which it would cut off. */
const store = (...of: Parameters<typeof url>) =>
  url(...of)
    .refine((text) => !text.includes('#'), { error: 'must not hold a #: in a password it is written %23' })
    .superRefine((text, context) => {
      const { searchParams } = new URL(text.replace('@/', '@socket/'));
      for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
        const file = searchParams.get(name);
        if (!file || isReadable(file)) continue;
        context.addIssue({ code: 'custom', message: `names a file that cannot be read: ${name}=${file}` });
      }
    });

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a URL has a user or password, in any spelling that is read as one: `https:user:password@host` is too. */
function hasUser(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

/** A URL to which paths are appended, so it must not have a query or a fragment. It is shown in links, alerts and the log. */
const base = url(['http:', 'https:'])
  .refine((text) => !hasUser(text), {
    error: 'must not hold a user or password, since links and alerts show it: leave away what is before the @',
  })
  .refine((text) => !/[?#]/.test(text), {
    error: 'must end with its path, since more is appended to it: leave away what begins with ? or #',
  });
/** The API's own path (section 9), in whole or in part, which requests add to the base address. */
const apiPath = /\/api\/public(?:\/v1)?\/*$/i;
/** The host may be empty after a user, when a parameter names a Unix socket: `postgres://user@/name?host=/run`. */
const postgres = store(['postgres:', 'postgresql:'], (text) => text.replace('@/', '@socket/'));
const token = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/, {
  error: 'may hold only A-Z a-z 0-9 . _ ~ -, and not be . or .., since it stands in an address',
});
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

const webhookSecretRemedy = 'make one with `echo whsec_$(openssl rand -base64 32)`';

const encryptionKey = z
  .string()
  .min(32, { error: 'must have at least 32 characters; make one with `openssl rand -hex 32`' });

/** A URL that is posted to as it is. `fetch` takes no user and password in it. */
const endpoint = url(['http:', 'https:']).refine((text) => !hasUser(text), {
  error: 'must not hold a user or password',
});
const emails = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .refine((each) => each.every((address) => /^[^\s@<>]+@[^\s@<>]+$/.test(address)), {
    error: 'must be e-mail addresses, separated by commas',
  });

const webhookSecret = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;

/** Where messages go: a channel of Slack, people, or a system. Addresses and secrets are never printed. */
export type DeclaredTarget =
  | { readonly kind: 'slack'; readonly url: string }
  | { readonly kind: 'webhook'; readonly url: string; readonly secret: string }
  | { readonly kind: 'email'; readonly to: readonly string[]; readonly smtpUrl: string; readonly from: string };

/** The same without the mail server, which has a variable of its own. */
type WrittenTarget =
  | Exclude<DeclaredTarget, { kind: 'email' }>
  | Pick<DeclaredTarget & { kind: 'email' }, 'kind' | 'to'>;

/** `NAME=slack:URL`, `NAME=mailto:ADDRESSES` or `NAME=URL#SECRET`; undefined for anything else. */
function targetOf(written: string): [name: string, target: WrittenTarget] | undefined {
  const [, name = '', address = ''] = /^([a-z][a-z0-9-]{0,30})=(.+)$/.exec(written) ?? [];
  if (address.startsWith('mailto:')) {
    const { data: to } = emails.safeParse(address.slice('mailto:'.length));
    return to && [name, { kind: 'email', to }];
  }
  if (address.startsWith('slack:')) {
    const { data: url } = endpoint.safeParse(address.slice('slack:'.length));
    return url === undefined ? undefined : [name, { kind: 'slack', url }];
  }
  const [before = '', secret = ''] = address.split('#');
  const { data: url } = endpoint.safeParse(before);
  return url === undefined || !webhookSecret.test(secret) ? undefined : [name, { kind: 'webhook', url, secret }];
}

const namedTargets = z.string().transform((text, context): ReadonlyMap<string, WrittenTarget> => {
  const targets = new Map<string, WrittenTarget>();
  for (const written of text.split(/\s+/)) {
    const [name, target] = targetOf(written) ?? [];
    if (name !== undefined && target && !targets.has(name)) {
      targets.set(name, target);
      continue;
    }
    const known = /^([a-z][a-z0-9-]*)=/.exec(written)?.[1];
    const message =
      name === undefined
        ? `must be targets such as support=slack:https://…, office=mailto:a@example.com or crm=https://…#whsec_…, separated by blanks${known ? `: ${known} is none` : ''}`
        : `must have each name once: ${name} is there twice`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
  return targets;
});

/** The kinds of content that RETENTION_DAYS can limit. */
const retainedKinds = ['texts', 'transcripts', 'recordings'] as const;

/** For how many days content is kept; a kind that is missing is kept for good. */
export type RetentionDays = Readonly<Partial<Record<(typeof retainedKinds)[number], number>>>;

/** Automatic texts look a week back, and late reads come within a week. */
const shortestRetention = 7;
const longestRetention = 36_500;

const retention = z.string().transform((text, context): RetentionDays => {
  const days: { -readonly [K in keyof RetentionDays]: RetentionDays[K] } = {};
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

/** Every environment variable: its type, its default, and its meaning. The table in docs/operations.md is generated from here. */
const variables = z.object({
  API_BASE_URL: base
    .optional()
    .register(documentation, { doc: 'The telephony service.', otherwise: '`start` runs the sandbox' }),
  API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, { error: 'has spaces, line breaks or letters that no header can carry: copy it again' })
    .optional()
    .register(documentation, {
      doc: 'API key of the account.',
      isSecret: true,
      otherwise: 'the sandbox’s own',
    }),
  DATABASE_URL: postgres.optional().register(documentation, {
    doc: 'The Postgres that holds the warehouse.',
    isSecret: true,
    otherwise: '`start` runs an embedded Postgres 18',
    remedy: 'Set it; or run `npm start` here, which brings one along. If that runs with a DATA_DIR, name it here too.',
  }),
  DATABASE_POOL_SIZE: integer(8, 1_000).prefault('9').register(documentation, {
    doc: 'How many connections to Postgres a `web` or `worker` process opens at most; `start` opens twice as many.',
  }),
  REDIS_URL: store(['redis:', 'rediss:']).optional().register(documentation, {
    doc: 'The Redis that holds the queues (`maxmemory-policy noeviction`).',
    isSecret: true,
    otherwise: 'the queues live in the Postgres',
  }),
  PUBLIC_URL: base.optional().register(documentation, {
    doc: 'Where the service reaches the receiver. Webhooks are registered with it.',
    otherwise: 'the service is polled; the sandbox reaches the receiver at its own address',
  }),
  WEBHOOK_SECRET: token.optional().register(documentation, {
    doc: 'The unguessable part of the receiver’s addresses, `/hooks/{secret}/{type}`. Make one with `openssl rand -hex 24`.',
    isSecret: true,
    otherwise: '`start` makes one and keeps it',
  }),
  WEBHOOK_SECRET_PREVIOUS: token
    .optional()
    .register(documentation, { doc: 'Accepted beside `WEBHOOK_SECRET` while it is rotated.', isSecret: true }),
  ENCRYPTION_KEY: encryptionKey.optional().register(documentation, {
    doc: 'Seals the links to recordings and attached files in the database; the same in every process. Make one with `openssl rand -hex 32`.',
    isSecret: true,
    otherwise: '`start` makes one and keeps it; with `API_KEY` links are sealed with a key derived from that',
  }),
  ADMIN_TOKEN: z.string().optional().register(documentation, {
    doc: 'Opens every page and action, and the metrics: as password (any user name) or bearer token; at least 16 characters. `web` and `worker` need one unless `HOST` is loopback and `PUBLIC_URL` is not set, or loopback too.',
    isSecret: true,
    otherwise:
      '`start` makes one and keeps it in `DATA_DIR/admin-token`, and so do `web` and `worker` where they need none',
  }),
  HOST: z
    .string()
    .default('127.0.0.1')
    .register(documentation, { doc: 'Address that the receiver and the port of a worker bind; `0.0.0.0` on a PaaS.' }),
  PORT: integer(0, 65_535)
    .prefault('3000')
    .register(documentation, { doc: 'Port of the receiver; 0 takes a free one.' }),
  WORKER_PORT: integer(0, 65_535).optional().register(documentation, {
    doc: 'Port of a `worker` for `/healthz`, `/readyz` and `/metrics`, at `HOST`; 0 takes a free one. Each worker of a machine needs its own.',
    otherwise: 'workers have none',
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
      doc: 'Time zone of the days in the reports, of the times on pages, and of the business hours and times in rules. Until it is set, rules that speak of hours do not act on a real account; `UTC` is a choice too.',
      otherwise: 'UTC',
    }),
  PAGES_WORDS: oneOf('shown', 'hidden').default('shown').register(documentation, {
    doc: 'Whether the pages show what people wrote and said to whoever signed in.',
  }),
  SEARCH_LANGUAGE: z
    .string()
    .regex(/^[a-z_][a-z0-9_]*$/, { error: 'must be a text search configuration of Postgres, such as english' })
    .optional()
    .register(documentation, {
      doc: 'Language of `reporting.search`: a text search configuration of Postgres such as `english`, which finds “refunds” for “refund”. `migrate` sets it; where it is removed, the language stays.',
      otherwise: '`simple`: words as they were written, in any language',
    }),
  BI_WORDS: oneOf('hidden', 'shown').default('hidden').register(documentation, {
    doc: 'Whether the views of `reporting`, `reporting.search` and the BI role show what people wrote and said, and what the analysis wrote about it (`shown`), or only figures, names and numbers (`hidden`). A start of a worker applies it.',
  }),
  NOTIFY_WEBHOOK_URL: endpoint.optional().register(documentation, {
    doc: 'Receives alerts as webhooks that are signed after [Standard Webhooks](https://www.standardwebhooks.com); needs `NOTIFY_WEBHOOK_SECRET`.',
    isSecret: true,
  }),
  NOTIFY_WEBHOOK_SECRET: z
    .string()
    .regex(webhookSecret, {
      error: `must be whsec_ and the base64 of at least 24 bytes; ${webhookSecretRemedy}`,
    })
    .optional()
    .register(documentation, {
      doc: `Signs these webhooks: ${webhookSecretRemedy}.`,
      isSecret: true,
    }),
  NOTIFY_SLACK_URL: endpoint.optional().register(documentation, {
    doc: 'Receives alerts as `{"text": "…"}`: an incoming webhook of Slack, Mattermost or the like.',
    isSecret: true,
  }),
  NOTIFY_SMTP_URL: url(['smtp:', 'smtps:']).optional().register(documentation, {
    doc: 'The mail server for alerts and rules, such as `smtps://user:password@host` or `smtp://host:587`, which then has to offer STARTTLS.',
    isSecret: true,
  }),
  NOTIFY_EMAIL_TO: emails
    .optional()
    .register(documentation, { doc: 'Who gets alerts by e-mail; several addresses are separated by commas.' }),
  NOTIFY_EMAIL_FROM: z
    .string()
    .regex(/^[^\r\n@]+@[^\r\n@]+$/, { error: 'must be an e-mail address' })
    .optional()
    .register(documentation, {
      doc: 'The sender of these e-mails.',
      otherwise: 'the first address of `NOTIFY_EMAIL_TO`, else of the target',
    }),
  NOTIFY_TARGETS: namedTargets.optional().register(documentation, {
    doc: `Whom [rules](rules.md#tell-people-and-systems) can tell something, by names of your own, separated by blanks: \`support=slack:https://hooks.slack.com/…\` (Slack, Mattermost or the like), \`office=mailto:a@example.com,b@example.com\` (by \`NOTIFY_SMTP_URL\`), \`crm=https://crm.example.com/in#whsec_…\` (a signed webhook; ${webhookSecretRemedy}).`,
    isSecret: true,
    otherwise: 'rules tell nobody',
  }),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal')
    .default('info')
    .register(documentation, { doc: 'How much is logged, to standard error.' }),
  BACKFILL_DAYS: integer(0, 366).prefault('90').register(documentation, {
    doc: 'How many days of history the first start fills in by itself, once per database: calls with their artefacts, then the threads of their callers. 0: none.',
  }),
  EVENT_RETENTION_DAYS: integer(1, 3_650).prefault('30').register(documentation, {
    doc: 'How many days deliveries are kept in the inbox, and for how long refusals of rules (at least 30).',
  }),
  RETENTION_DAYS: retention.optional().register(documentation, {
    doc: `How many days the words of texts, the words of transcripts and the links to recordings are kept, such as \`texts=365,transcripts=90,recordings=90\`; a kind that is left out is kept for good. Reports keep their figures ([retention](#retention)).`,
    otherwise: 'all content is kept',
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

/**
 * Reads the environment; an empty variable counts as not set. `needed`: variables that the command requires. `servesPages`: it serves
 * pages, or does so where that variable is set. `makesToken`: it generates its own ADMIN_TOKEN. Throws one SettingsError for all problems.
 */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  options: { needed?: readonly Variable[]; servesPages?: boolean | Variable; makesToken?: boolean } = {},
): Settings {
  const given = givenIn(environment);
  const quoted = Object.keys(given).filter((name) => /^(["'`])[\s\S]*\1$/.test(given[name] ?? ''));
  const parsed = variables.safeParse(given);
  const problems = [
    ...quoted.map((name) => `${name} must be written without quotes around it`),
    ...(parsed.error?.issues ?? []).flatMap(({ path, message }) =>
      quoted.includes(String(path[0])) ? [] : [`${path.join('.')} ${message}${shownValue(path[0], given)}`],
    ),
  ];
  for (const name of options.needed ?? []) {
    if (given[name] !== undefined) continue;
    const { doc, remedy } = documentationOf(name);
    problems.push(`${name} is missing: ${doc}${remedy ? ` ${remedy}` : ''}`);
  }
  const isMailed = given.NOTIFY_TARGETS?.includes('=mailto:') === true;
  if (isMailed && given.NOTIFY_SMTP_URL === undefined && given.NOTIFY_EMAIL_TO === undefined) {
    problems.push('NOTIFY_SMTP_URL is missing, although NOTIFY_TARGETS has an e-mail address.');
  }
  for (const [one, other] of notifyPairs) {
    if ((given[one] === undefined) === (given[other] === undefined)) continue;
    if (isMailed && other === 'NOTIFY_EMAIL_TO' && given[other] === undefined) continue;
    const [missing, set] = given[one] === undefined ? [one, other] : [other, one];
    problems.push(`${missing} is missing, although ${set} is set: ${documentationOf(missing).doc}`);
  }
  const { servesPages } = options;
  if (typeof servesPages === 'string' ? given[servesPages] : servesPages)
    problems.push(...tokenProblems(given, options.makesToken));
  if (!parsed.success || problems.length > 0) throw new SettingsError(problems);
  return grouped(parsed.data, given);
}

/**
 * Our variables that are set. Secret files and pasted values often end with a line break, which is no part of the value. And beside
 * a service named "worker", Kubernetes sets WORKER_PORT=tcp://10.0.0.5:80 in every container, which is no setting.
 */
function givenIn(environment: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.keys(variables.shape).flatMap((name) => {
      const value = environment[name]?.trim();
      const isOfKubernetes = name.endsWith('PORT') && value?.startsWith('tcp://');
      return value && !isOfKubernetes ? [[name, value]] : [];
    }),
  );
}

/** Of a target of alerts, what is of no use alone. */
const notifyPairs = [
  ['NOTIFY_WEBHOOK_URL', 'NOTIFY_WEBHOOK_SECRET'],
  ['NOTIFY_SMTP_URL', 'NOTIFY_EMAIL_TO'],
] as const;

/** The problems of ADMIN_TOKEN. Where other machines can reach the pages, only `start` makes one by itself. */
function tokenProblems(given: Readonly<Record<string, string | undefined>>, makesToken = false): string[] {
  const { ADMIN_TOKEN: token, HOST: host, PUBLIC_URL: publicUrl } = given;
  const remedy = 'make one with `openssl rand -hex 24`';
  if (token === undefined) {
    if (makesToken || !arePagesExposed({ host, publicUrl })) return [];
    const why = isLoopback(host) ? 'with a PUBLIC_URL' : 'with HOST other than loopback';
    return [`ADMIN_TOKEN is missing: ${why}, the status page must not be open to everybody; ${remedy}`];
  }
  if (token.length >= shortestUnguessed) return [];
  return [
    `ADMIN_TOKEN has ${token.length} characters and might be guessed: it must have at least ${shortestUnguessed}; ${remedy}`,
  ];
}

/** Whether other machines can reach the pages, directly or through a proxy at PUBLIC_URL. */
function arePagesExposed({ host, publicUrl }: Record<'host' | 'publicUrl', string | undefined>): boolean {
  return !isLoopback(host) || (publicUrl !== undefined && !isLoopbackUrl(publicUrl));
}

/** The settings of a process, grouped by purpose. */
function grouped(read: z.output<typeof variables>, given: Readonly<Record<string, string | undefined>>) {
  const { NOTIFY_WEBHOOK_URL: url, NOTIFY_WEBHOOK_SECRET: secret, NOTIFY_SMTP_URL: smtpUrl } = read;
  const to = read.NOTIFY_EMAIL_TO;
  const from = read.NOTIFY_EMAIL_FROM ?? to?.[0];
  const targets = [...(read.NOTIFY_TARGETS ?? [])].map(([name, target]): [string, DeclaredTarget] => {
    if (target.kind !== 'email') return [name, target];
    return [name, { ...target, smtpUrl: smtpUrl ?? '', from: from ?? target.to[0] ?? '' }];
  });
  return {
    api: {
      baseUrl: read.API_BASE_URL?.replace(apiPath, ''),
      key: read.API_KEY,
      /** The path of the API was left out of API_BASE_URL. */
      hadApiPath: apiPath.test(read.API_BASE_URL ?? ''),
    },
    encryptionKey: read.ENCRYPTION_KEY,
    databaseUrl: read.DATABASE_URL && withPlainSslMode(read.DATABASE_URL),
    /** Maximum of connections to Postgres per process. */
    poolSize: read.DATABASE_POOL_SIZE,
    redisUrl: read.REDIS_URL,
    receiver: {
      host: read.HOST,
      port: read.PORT,
      /** A platform that gives a PORT sends requests from other machines, which do not reach loopback. */
      hasPortAlone: given.PORT !== undefined && read.PORT !== 0 && given.HOST === undefined,
      publicUrl: read.PUBLIC_URL?.replace(/\/+$/, ''),
      secret: read.WEBHOOK_SECRET,
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
    /** Whether pages show what people wrote and said. */
    arePageWordsShown: read.PAGES_WORDS === 'shown',
    /** Time zone of the hours in rules. Undefined while nobody has chosen one: rules that speak of hours do not act then. */
    hoursZone: read.TIME_ZONE,
    /** A text search configuration; undefined keeps the one in use. */
    searchLanguage: read.SEARCH_LANGUAGE,
    areBiWordsShown: read.BI_WORDS === 'shown',
    logLevel: read.LOG_LEVEL as string,
    /** 0: the first start fills in nothing. */
    backfillDays: read.BACKFILL_DAYS,
    eventRetentionDays: read.EVENT_RETENTION_DAYS,
    /** Empty: all content is kept. */
    retentionDays: read.RETENTION_DAYS ?? {},
    /** Where alerts go, and whom rules can tell something. */
    notify: {
      webhook: url !== undefined && secret !== undefined ? { url, secret } : undefined,
      slackUrl: read.NOTIFY_SLACK_URL,
      email: smtpUrl !== undefined && to !== undefined && from !== undefined ? { smtpUrl, to, from } : undefined,
      /** Of rules, by name. */
      targets: new Map(targets),
    },
  };
}

/** Minimum length, in characters, of a secret that cannot be guessed. */
const shortestUnguessed = 16;

/** Warnings about settings that work but are insecure, mended or of no effect: one sentence each, with its remedy, and no secret. */
export function weaknessesOf({ api, receiver, databaseUrl }: Settings): string[] {
  const mended =
    'API_BASE_URL ends with the path of the API, which is left out: requests add it themselves. Remove /api/public/v1 from it.';
  const secrets = { WEBHOOK_SECRET: receiver.secret, WEBHOOK_SECRET_PREVIOUS: receiver.previousSecret };
  const weaknesses = Object.entries(secrets).flatMap(([name, secret]) =>
    secret === undefined || secret.length >= shortestUnguessed
      ? []
      : [
          `${name} has ${secret.length} characters: who guesses it can make the daemon read what never happened. Make one with \`openssl rand -hex 24\`.`,
        ],
  );
  if (api.hadApiPath) weaknesses.push(mended);
  if (receiver.hasPortAlone && receiver.publicUrl !== undefined && !isLoopbackUrl(receiver.publicUrl)) {
    weaknesses.push(
      'PORT and a public PUBLIC_URL are set, but HOST is not: only this machine can reach the receiver. On a platform set HOST=0.0.0.0; behind a proxy on this machine set HOST=127.0.0.1, and this warning ends.',
    );
  }
  const host = plainTextHost(databaseUrl);
  if (host !== undefined) {
    weaknesses.push(
      `The connection to Postgres at ${host} is not encrypted: whoever is on the way reads the password and all data. Append sslmode=verify-full to DATABASE_URL, with sslrootcert=FILE where its certificate authority is your own.`,
    );
  }
  return weaknesses;
}

/** The modes that the driver treats as verify-full; it says so on every start, since a later version of it may not. */
const likeVerifyFull = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Names the mode by what it does, so that it keeps doing that, and the driver has nothing to warn of. */
export function withPlainSslMode(databaseUrl: string): string {
  // With libpq's meaning of the modes, the driver keeps them apart.
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(databaseUrl)) return databaseUrl;
  return databaseUrl.replace(likeVerifyFull, '$1verify-full');
}

/** The host of a Postgres that the driver connects to without TLS; undefined when the connection stays on this machine. */
export function plainTextHost(databaseUrl: string | undefined): string | undefined {
  if (databaseUrl === undefined) return undefined;
  // The driver itself interprets the URL and PGSSLMODE.
  const { host, ssl } = new Client({ connectionString: databaseUrl });
  return ssl || host.startsWith('/') || isLoopback(host) ? undefined : host;
}

/**
 * Every variable, in the order of the docs: its default (`fallback`, null when there is none), what happens `without` it, and
 * its meaning.
 */
export function settingsRows() {
  return (Object.keys(variables.shape) as Variable[]).map((name) => {
    const { doc, otherwise, isSecret = false } = documentationOf(name);
    const fallback = defaults[name] ?? null;
    return {
      name,
      fallback,
      without: fallback === null ? (otherwise ?? 'not set') : `\`${fallback}\``,
      meaning: doc,
      isSecret,
    };
  });
}

/** The settings as a table for the docs. */
export function settingsTable(): string {
  const rows = settingsRows().map(({ name, without, meaning }) => `| \`${name}\` | ${without} | ${meaning} |`);
  return ['| variable | without it | meaning |', '|---|---|---|', ...rows].join('\n');
}

const defaults: Partial<Record<string, unknown>> = variables.parse({});

function documentationOf(name: Variable): Documented {
  return documentation.get(variables.shape[name]) ?? { doc: '' };
}

function shownValue(name: PropertyKey | undefined, given: Record<string, string | undefined>): string {
  if (typeof name !== 'string' || documentation.get(variables.shape[name as Variable])?.isSecret) return '';
  // A password may hold any character, also those that end the part of an address before them.
  const shown = given[name]
    ?.replace(/^([a-z][\w+.-]*:).*@/is, '$1//…@')
    .replace(/^([a-z][\w+.-]*:[^?#]*[?#]).+/is, '$1…');
  return ` (it is ${JSON.stringify(shown)})`;
}

export function isLoopback(host: string | undefined): boolean {
  return host === undefined || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The address of a page by PUBLIC_URL. Undefined where that has a path: below it there are hooks alone. */
export function pageUrl(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl === undefined || new URL(publicUrl).pathname !== '/' ? undefined : new URL(path, publicUrl).href;
}

/** Whether a URL points to this machine; false when it cannot be parsed. */
export function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''));
}
