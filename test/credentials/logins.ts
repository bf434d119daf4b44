import { afterAll } from 'vitest';
import { createOAuth } from '../../src/api-client/oauth/oauth.ts';
import { serviceName } from '../../src/credentials/credentials.ts';
import { beginLogin, type LoginRequest, type StartedLogin } from '../../src/credentials/login.ts';
import { createSealer } from '../../src/credentials/sealer.ts';
import { createLog } from '../../src/shared/log.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { createStage, encryptionKey, type Stage } from './stage.ts';

/** A stage with a daemon, at which somebody can begin to log in. */
export interface Logins {
  readonly stage: Stage;
  readonly daemon: Daemon;
  begin(wish?: Partial<LoginRequest>): Promise<StartedLogin>;
}

/** Call at the top level of a test file. */
export async function openLogins(): Promise<Logins> {
  const stage = await createStage();
  const { sandbox, database } = stage;
  const daemon = await startDaemon(stage);
  const oauth = createOAuth({ baseUrl: sandbox.url, log: createLog('silent') });
  afterAll(async () => {
    await oauth.close();
    await daemon[Symbol.asyncDispose]();
  });
  return {
    stage,
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
