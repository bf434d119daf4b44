import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { describeRefusal, isPostgresAway, isVagueRefusal } from '../../src/db/refusals.ts';
import { trunkline } from '../credentials/commands.ts';

const folder = mkdtempSync(join(tmpdir(), 'trunkline-refusals-'));
const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
execFileSync(
  'openssl',
  `req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ${key} -out ${certificate} -subj /CN=db.example -addext subjectAltName=DNS:db.example`.split(
    ' ',
  ),
  { stdio: 'ignore' },
);

/** Takes encrypted connections as Postgres does, with a certificate of its own for another host name. */
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    socket.write('S');
    new TLSSocket(socket, { isServer: true, key: readFileSync(key), cert: readFileSync(certificate) }).on(
      'error',
      () => undefined,
    );
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

test.each([
  ['a certificate of its own', '', ['is not trusted', 'sslrootcert=FILE'], 'user, password'],
  [
    'a certificate for another host',
    `&sslrootcert=${certificate}`,
    ['is for another host name', 'host name of the certificate'],
    'sslrootcert=FILE',
  ],
])('of %s, doctor and a worker say what it is and what to do', async (_what, parameters, words, other) => {
  const variables = {
    DATABASE_URL: `postgres://app:app@127.0.0.1:${port}/mirror?sslmode=require${parameters}`,
    API_BASE_URL: 'http://127.0.0.1:1',
    API_KEY: 'of-nobody',
    REDIS_URL: '',
  };
  for (const name of ['doctor', 'worker']) {
    const command = trunkline(variables, name);
    expect(await command.ended, name).toBe(1);
    const told = (command.out() + command.err()).replaceAll(/\s+/g, ' ');
    for (const word of words) expect(told, name).toContain(word);
    expect(told, name).not.toContain(other);
    expect(told, name).not.toMatch(/SECURITY WARNING|DEP0|\(node:/);
  }
});

const refused = (code: string, routine?: string) =>
  Object.assign(new Error('the words'), { code, severity: 'FATAL', routine });

test.each([
  ['XX000', undefined, 'vague'],
  ['08P01', undefined, 'vague'],
  ['28000', undefined, 'vague'],
  ['XX000', 'RelationBuildDesc', 'neither'],
  ['28000', 'InitializeSessionUserId', 'neither'],
  ['28P01', undefined, 'neither'],
  ['3D000', undefined, 'neither'],
  ['42501', 'aclcheck_error', 'neither'],
  ['08006', undefined, 'away'],
  ['08004', undefined, 'away'],
  ['08001', undefined, 'away'],
  ['53200', 'palloc', 'away'],
  ['53300', 'InitProcess', 'away'],
  ['53400', undefined, 'away'],
  ['57014', 'ProcessInterrupts', 'away'],
  ['57P01', 'ProcessInterrupts', 'away'],
  ['0A000', undefined, 'neither'],
  ['57P03', 'ProcessStartupPacket', 'away'],
  ['58030', 'mdread', 'away'],
])('%s by %s is a refusal of the kind: %s', (code, routine, kind) => {
  const error = refused(code, routine);
  expect([isPostgresAway(error), isVagueRefusal(error)]).toEqual([kind === 'away', kind === 'vague']);
});

test.each(['XX000', '08P01', '28000', '53300', '53100', '57014', '57P03', '08006', '28P01', '3D000', '0A000'])(
  'of %s there is a sentence with the words of the server, and a remedy',
  (code) => {
    const described = describeRefusal(refused(code));
    expect(described?.sentence).toContain('the words');
    expect(described?.remedy).toMatch(/^[A-Z].{10,}\.$/);
  },
);
