import { describe, expect, test, vi } from 'vitest';
import { ServiceError } from '../../src/api-client/client.ts';
import { describeFailure } from '../../src/cli/failures.ts';
import { createCommandLog, messageOf } from '../../src/cli/terminal.ts';
import { isPostgresAway } from '../../src/db/refusals.ts';
import { QueueUnavailable } from '../../src/queues/queues.ts';
import { UserError } from '../../src/shared/errors.ts';

const coded = (code: string, message: string) => Object.assign(new Error(message), { code });
const database = { DATABASE_URL: 'postgres://somebody:a-password@db.example:6432/mirror' };

describe('a failure is told in one line, with its cure', () => {
  test.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:6432', 'DATABASE_URL is right'],
    ['28P01', 'password authentication failed for user "somebody"', 'the password of DATABASE_URL'],
    ['28000', 'no pg_hba.conf entry for host "10.0.0.1", user "somebody", no encryption', 'sslmode=verify-full'],
    ['28000', 'role "somebody" is not permitted to log in', 'the password of DATABASE_URL'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain', 'sslrootcert=FILE'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames", 'sslmode=no-verify'],
    ['3D000', 'database "mirror" does not exist', 'Create the database'],
    ['42P01', 'relation "ops.sends" does not exist', 'run `npx trunkline migrate`'],
    ['53300', 'sorry, too many clients already', 'max_connections'],
    ['57P03', 'the database system is starting up', 'again in a moment'],
    ['EADDRINUSE', 'listen EADDRINUSE: address already in use 127.0.0.1:3000', 'Set PORT'],
    ['ERR_SOMETHING', 'what nobody foresaw', 'LOG_LEVEL=debug'],
  ])('%s', (code, message, cure) => {
    const told = describeFailure(coded(code, message), database);
    expect(told).toContain(message);
    expect(told).toContain(cure);
    expect(told).not.toMatch(/\n|a-password|\.ts:\d/);
  });

  test.each([
    ['listen', 'listen EACCES: permission denied 127.0.0.1:80', 'PORT', 'DATA_DIR'],
    ['mkdir', "EACCES: permission denied, mkdir '.data'", 'DATA_DIR', 'PORT'],
    ['open', "EACCES: permission denied, open '.data/webhook-secret'", 'DATA_DIR', 'PORT'],
  ])('what %s was denied is cured by the setting that it is about', (syscall, message, cure, other) => {
    const told = describeFailure(Object.assign(coded('EACCES', message), { syscall }));
    expect(told).toContain(message);
    expect(told).toContain(cure);
    expect(told).not.toContain(other);
  });

  test('the place of the database is named, and its password is not', () => {
    const told = describeFailure(coded('ENOTFOUND', 'getaddrinfo ENOTFOUND db.example'), database);
    expect(told).toContain('Postgres at db.example:6432');
    expect(told).not.toContain('a-password');
  });

  test.each([
    ['postgres://somebody:a-password@/mirror?host=/run/postgresql', ''],
    ['postgres:///mirror?host=/run/postgresql&user=somebody&password=a-password', ' at /run/postgresql:5432'],
    ['postgres://somebody:a-password@%2Frun%2Fpostgresql:6432/mirror', ' at /run/postgresql:6432'],
    ['postgres://somebody:a-password@localhost/mirror?host=db.example&port=6432', ' at db.example:6432'],
  ])('that of %s is told so far', (DATABASE_URL, place) => {
    const told = describeFailure(coded('ECONNREFUSED', 'connect ECONNREFUSED'), { DATABASE_URL });
    expect(told).toContain(`Postgres${place} cannot be reached`);
    expect(told).not.toContain('a-password');
  });

  test('a pool that waits in vain is a Postgres that cannot be reached', () => {
    expect(describeFailure(new Error('timeout exceeded when trying to connect'), database)).toContain(
      'cannot be reached',
    );
  });

  test.each([
    ['ECONNREFUSED', true],
    ['ENOTFOUND', true],
    ['42P01', false],
    // Refusals of a server are in `db/refusals.all.test.ts`.
  ])('%s is worth waiting for: %s', (code, isAway) => {
    expect(isPostgresAway(coded(code, 'refused'))).toBe(isAway);
  });

  test.each([
    ['connect', true],
    ['open', false],
  ])('a file that %s did not find is worth waiting for: %s', (syscall, isAway) => {
    const missing = Object.assign(coded('ENOENT', `${syscall} ENOENT /run/postgresql`), { syscall });
    expect(isPostgresAway(missing)).toBe(isAway);
  });

  test('a folder in use is told in full, with nothing to look for', () => {
    const remedy = 'Stop that process, or choose another folder with DATA_DIR.';
    expect(describeFailure(new UserError('.data is in use', { remedy }))).toBe(`.data is in use. ${remedy}`);
  });

  test('a queue that is not connected names its settings', () => {
    expect(describeFailure(new QueueUnavailable('The queue calls is not connected.'))).toMatch(
      /not connected\. .*REDIS_URL/,
    );
  });

  test.each(['It broke', 'It broke.', 'It broke!'])('%j ends with one stop', (message) => {
    expect(describeFailure(new Error(message))).toMatch(/^It broke[.!] LOG_LEVEL=debug shows where it happened\.$/);
  });

  test('a trace is for those who ask for it', () => {
    const error = new Error('what nobody foresaw');
    expect(describeFailure(error, { LOG_LEVEL: 'debug' })).toContain('failures.test.ts');
  });

  test('a refusal by the service names what to grant', () => {
    const details = { operation: 'webhooks.list', effect: 'none', scope: 'webhooks:read' } as const;
    const told = describeFailure(new ServiceError('insufficient_scope', 'refused', details));
    expect(told).toContain('Grant webhooks:read to the API key.');
    expect(describeFailure(new ServiceError('unauthenticated', 'refused', details))).toContain('Set API_KEY');
    expect(describeFailure(new ServiceError('network', 'cannot be reached', details))).toContain(
      'API_BASE_URL is right',
    );
  });
});

test('a remark is the sentence of a line of the log', () => {
  expect(messageOf('{"level":40,"msg":"A hint","err":{"message":"the reason","stack":"Error: at x"}}')).toBe(
    'A hint (the reason)',
  );
  expect(messageOf('{"level":40,"msg":"A hint"}')).toBe('A hint');
});

test('a remark is made once, however often its cause comes up', () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const remarks = createCommandLog('warn', 'info');
  for (const hours of [1, 2, 3])
    remarks.warn({ err: new Error('nobody is logged in'), hours }, 'It could not be compared');
  remarks.warn('Another matter');
  expect(said.mock.calls.flat()).toEqual(['It could not be compared (nobody is logged in)\n', 'Another matter\n']);
  said.mockRestore();
});
