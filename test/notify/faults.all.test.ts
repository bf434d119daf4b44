import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { DeclaredTarget } from '../../config/settings.ts';
import { type Message, sendTo } from '../../src/notify/channels.ts';
import { temporaryFolder } from '../at-end.ts';
import { type HttpReceiver, startHttpReceiver } from './receivers.ts';

const folder = await temporaryFolder();
const openssl = (command: string) => execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' });
const ec = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
const read = (name: string) => readFileSync(join(folder, name));
const self = (name: string) =>
  openssl(`req -x509 ${ec} -days 2 -keyout ${name}.key -out ${name}.pem -subj /CN=${name}`);
self('authority');
self('stranger');

/** Key and certificate of a server, from the authority that the tests trust. */
function certified(name: string, alternatives: string, days: number) {
  openssl(
    `req -new ${ec} -keyout ${name}.key -out ${name}.csr -subj /CN=${name} -addext subjectAltName=${alternatives}`,
  );
  const by = '-CA authority.pem -CAkey authority.key -CAcreateserial -copy_extensions copy';
  openssl(`x509 -req -in ${name}.csr -out ${name}.pem -days ${days} ${by}`);
  return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
}

const sound = certified('mail.test', 'DNS:mail.test,IP:127.0.0.1', 2);
const certificates = {
  'self-signed': { key: read('stranger.key'), cert: read('stranger.pem') },
  'for another name': certified('elsewhere.test', 'DNS:elsewhere.test', 2),
  expired: certified('old.test', 'IP:127.0.0.1', -1),
};
const trusted = tls.getCACertificates('default');
tls.setDefaultCACertificates([...trusted, read('authority.pem').toString()]);

const closing: (() => unknown)[] = [() => tls.setDefaultCACertificates(trusted)];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const mails: string[] = [];
async function mailServer(options: SMTPServerOptions = {}): Promise<number> {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'owner' }) : done(new Error('no')),
    onRcptTo: ({ address }, _session, done) => done(address === 'nobody@example.com' ? new Error('no') : null),
    onData(stream, _session, done) {
      stream.on('data', (chunk) => mails.push(String(chunk))).on('end', () => done());
    },
    ...options,
  });
  server.on('error', () => undefined);
  const { port } = (await once(server.listen(0, '127.0.0.1'), 'listening').then(() => server.server.address())) as {
    port: number;
  };
  closing.push(() => new Promise((resolve) => server.close(() => resolve(undefined))));
  return port;
}

/** A mail server that answers each line as it is told. */
const speaking = (...answers: string[]) =>
  listening(
    createServer((socket) => {
      const [greeting = '', ...rest] = answers;
      socket.write(`${greeting}\r\n`);
      socket.on('data', () => socket.write(`${rest.length > 1 ? rest.shift() : rest[0]}\r\n`));
    }),
  );

const message: Message = { id: 'm', paragraphs: ['Hello'], event: { type: 'test', data: {} } };
async function told(target: DeclaredTarget): Promise<string | undefined> {
  return sendTo(target, message).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
const mailTo = (smtpUrl: string, to = 'a@example.com') =>
  told({ kind: 'email', smtpUrl, to: [to], from: 'trunkline@example.com' });
const slackAt = (url: string) => told({ kind: 'slack', url });

const silent = await listening(createServer(() => undefined));
/** Beyond the ports that other tests take meanwhile. */
const closed = 2;

describe('a mail server that', () => {
  const withPassword = (password: string, port: number) => `smtp://owner:${password}@127.0.0.1:${port}`;
  test.each<[string, () => Promise<string | undefined>, string | undefined]>([
    ['takes it', async () => mailTo(withPassword('right', await mailServer())), undefined],
    [
      'refuses the password',
      async () => mailTo(withPassword('wrong', await mailServer())),
      'refuses the user or the password (535)',
    ],
    [
      'refuses the recipient',
      async () => mailTo(withPassword('right', await mailServer()), 'nobody@example.com'),
      'refuses the sender or a recipient (550)',
    ],
    ['listens nowhere', () => mailTo(`smtp://127.0.0.1:${closed}`), 'takes no connections at that port (ECONNREFUSED)'],
    ['has a name that nobody knows', () => mailTo('smtp://nosuch.invalid'), 'has a name that is not found (ENOTFOUND)'],
    [
      'refuses the greeting',
      async () => mailTo(`smtp://127.0.0.1:${await speaking('554 no')}`),
      'refuses the greeting (554)',
    ],
    [
      'refuses EHLO and HELO',
      async () => mailTo(`smtp://127.0.0.1:${await speaking('220 hi', '550 no', '550 no')}`),
      'refuses the greeting (550)',
    ],
    ['says nothing', () => mailTo(`smtp://127.0.0.1:${silent}`), 'does not answer (ETIMEDOUT)'],
    [
      'speaks no TLS',
      async () => mailTo(`smtps://127.0.0.1:${await mailServer()}`),
      'does not speak TLS at that port (ERR_SSL_WRONG_VERSION_NUMBER)',
    ],
  ])('%s', async (_, send, words) => {
    expect(await send()).toBe(words === undefined ? undefined : `the mail server ${words}`);
  });

  const said = {
    'self-signed': /^the mail server has a certificate that it signed itself: .*DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
    'for another name': /^the mail server has a certificate for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
    expired: /^the mail server has a certificate that has expired \(CERT_HAS_EXPIRED\)$/,
  };
  test.each(Object.entries(certificates))('has a certificate that is %s, at once or by STARTTLS', async (name, own) => {
    const at = [
      `smtps://127.0.0.1:${await mailServer({ secure: true, ...own })}`,
      `smtp://127.0.0.1:${await mailServer({ disabledCommands: [], ...own })}`,
    ];
    for (const url of at) expect(await mailTo(url)).toMatch(said[name as keyof typeof said]);
  });
});

describe('a webhook that', () => {
  let receiver: HttpReceiver;
  test.each<[string, () => Promise<string | undefined>, RegExp | undefined]>([
    ['takes it', () => slackAt(receiver.url), undefined],
    ['refuses it', () => slackAt(Object.assign(receiver, { status: 403 }).url), /^it answered 403$/],
    ['moved', () => slackAt(Object.assign(receiver, { status: 301 }).url), /^it answered 301: set the address/],
    ['listens nowhere', () => slackAt(`http://127.0.0.1:${closed}`), /^it takes no connections at that port \(ECONN/],
    ['has no known name', () => slackAt('http://nosuch.invalid'), /^it has a name that is not found \(ENOTFOUND\)$/],
    ['never answers', () => slackAt(`http://127.0.0.1:${silent}`), /^it does not answer \(ETIMEDOUT\)$/],
    [
      'speaks no TLS',
      () => slackAt(receiver.url.replace('http:', 'https:')),
      /^it does not speak TLS at that port \(\w+\)$/,
    ],
  ])('%s', async (_, send, words) => {
    await using own = await startHttpReceiver();
    receiver = own;
    const reason = await send();
    if (words === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(words);
  });

  const said = { 'self-signed': 'it signed itself', 'for another name': 'for another name', expired: 'has expired' };
  test.each(Object.entries(certificates))('has a certificate that is %s', async (name, own) => {
    const port = await listening(createHttpsServer(own, (_, response) => response.end()));
    expect(await slackAt(`https://127.0.0.1:${port}`)).toContain(said[name as keyof typeof said]);
  });
});

test('a mail server whose answer never ends is given up', async () => {
  const endless = createServer((socket) => {
    socket.write('220 hi\r\n');
    const timer = setInterval(() => socket.write('250-more\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  });
  const soon = AbortSignal.timeout(500);
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(soon);
  expect(await mailTo(`smtp://127.0.0.1:${await listening(endless)}`)).toBe(
    'the mail server does not answer (ETIMEDOUT)',
  );
});

describe('through a proxy', () => {
  const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const;
  const given = variables.map((name) => [name, process.env[name]] as const);
  let asked: string[] = [];
  let isRefusing = false;
  let leadsTo = 0;
  const proxy = createHttpServer();
  proxy.on('connect', ({ url }, socket: Socket) => {
    asked.push(String(url));
    if (isRefusing) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const on = connect(leadsTo, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      on.pipe(socket).pipe(on);
    });
    for (const each of [on, socket]) each.on('error', () => undefined);
  });
  /** Hosts are known to the proxy alone, which leads each to this port. */
  async function leadTo(port: number, more: Readonly<Record<string, string>> = {}): Promise<void> {
    if (!proxy.listening) await listening(proxy);
    leadsTo = port;
    const { port: own } = proxy.address() as AddressInfo;
    Object.assign(process.env, { HTTPS_PROXY: `http://127.0.0.1:${own}`, ...more });
  }
  afterEach(() => {
    asked = [];
    isRefusing = false;
    for (const [name, value] of given) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test.each(['smtp', 'smtps'])('mail goes by %s, encrypted, to a server that the proxy alone knows', async (scheme) => {
    mails.length = 0;
    await leadTo(await mailServer({ disabledCommands: [], secure: scheme === 'smtps', ...sound }));
    expect(await mailTo(`${scheme}://owner:right@mail.test:2525`)).toBeUndefined();
    expect(asked).toEqual(['mail.test:2525']);
    expect(mails.join()).toContain('Hello');
  });

  test('mail names a server that refuses EHLO, or whose certificate is for another name', async () => {
    await leadTo(await speaking('220 hi', '550 no'));
    expect(await mailTo('smtp://mail.test')).toBe('the mail server refuses the greeting (550)');
    await leadTo(await mailServer({ secure: true, ...certificates['for another name'] }));
    expect(await mailTo('smtps://mail.test')).toContain('has a certificate for another name');
  });

  test('webhooks and Slack go too', async () => {
    const got: string[] = [];
    const server = createHttpsServer(sound, (request, response) => {
      got.push(`${request.method} ${request.headers.host}`);
      response.end();
    });
    await leadTo(await listening(server));
    expect(await slackAt('https://mail.test/secret')).toBeUndefined();
    expect(
      await told({ kind: 'webhook', url: 'https://mail.test/in', secret: `whsec_${'A'.repeat(44)}` }),
    ).toBeUndefined();
    expect(got).toEqual(['POST mail.test', 'POST mail.test']);
  });

  test('a proxy that is not there is blamed, not the target', async () => {
    await leadTo(closed, { HTTPS_PROXY: 'http://127.0.0.1:1' });
    expect(await mailTo('smtp://mail.test')).toBe('the proxy takes no connections at that port (ECONNREFUSED)');
    expect(await slackAt('https://mail.test')).toBe('the proxy takes no connections at that port (ECONNREFUSED)');
  });

  test('a proxy that refuses is told', async () => {
    await leadTo(closed);
    isRefusing = true;
    expect(await mailTo('smtp://mail.test')).toBe('the mail server cannot be reached through the proxy (EPROXY)');
    expect(await slackAt('https://mail.test')).toMatch(/^it cannot be reached through the proxy \(\w+\)$/);
  });

  test.each(['mail.test', '.test', '*', 'other.example, mail.test:2525'])(
    'NO_PROXY=%s is reached directly',
    async (host) => {
      await leadTo(closed, { NO_PROXY: host });
      expect(await mailTo('smtp://mail.test:2525')).toBe('the mail server has a name that is not found (ENOTFOUND)');
      expect(await slackAt('https://mail.test:2525')).toBe('it has a name that is not found (ENOTFOUND)');
      expect(asked).toEqual([]);
    },
  );

  test.each(['il.test', 'mail.test:25', 'mail.test.example'])('NO_PROXY=%s is another host', async (host) => {
    await leadTo(await speaking('554 no'), { NO_PROXY: host });
    await mailTo('smtp://mail.test:2525');
    expect(asked).toEqual(['mail.test:2525']);
  });

  test('a name that only begins as an address of this machine is asked through it', async () => {
    await leadTo(await speaking('554 no'));
    await mailTo('smtp://127.mail.test:2525');
    expect(asked).toEqual(['127.mail.test:2525']);
  });

  test('this machine is reached directly', async () => {
    await using receiver = await startHttpReceiver();
    await leadTo(closed, { HTTP_PROXY: 'http://127.0.0.1:1' });
    expect(await slackAt(receiver.url)).toBeUndefined();
    expect(await mailTo(`smtp://owner:right@127.0.0.1:${await mailServer()}`)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
