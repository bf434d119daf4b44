import { afterAll } from 'vitest';
import { createOAuth } from '../../src/api-client/oauth/oauth.ts';
import { serviceName } from '../../src/credentials/credentials.ts';
import { beginLogin, type LoginRequest, type StartedLogin } from '../../src/credentials/login.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import { createLog } from '../../src/shared/log.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { createLoginWorld, encryptionKey, type LoginWorld } from './login-world.ts';

/** A loginWorld with a daemon, at which somebody can begin to log in. */
export interface Logins {
  readonly loginWorld: LoginWorld;
  readonly daemon: Daemon;
  begin(wish?: Partial<LoginRequest>): Promise<StartedLogin>;
}

/** Call at the top level of a test file. */
export async function openLogins(): Promise<Logins> {
  const loginWorld = await createLoginWorld();
  const { sandbox, database } = loginWorld;
  const daemon = await startDaemon(loginWorld);
  const oauth = createOAuth({ baseUrl: sandbox.url, log: createLog('silent') });
  afterAll(async () => {
    await oauth.close();
    await daemon[Symbol.asyncDispose]();
  });
  return {
    loginWorld,
    daemon,
    begin(wish = {}) {
      const usual = {
        service: serviceName(sandbox.url),
        publicUrl: daemon.receiver.url,
        registerAgain: false,
        validMs: 60_000,
      };
      return beginLogin(
        { db: database.db, sealer: createSealer(encryptionKey), oauth },
        { scopes: undefined, ...usual, ...wish },
      );
    },
  };
}
