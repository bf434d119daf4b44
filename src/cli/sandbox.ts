import { readSettings } from '../../config/settings.ts';
import { createSandbox } from '../sandbox/sandbox.ts';
import { UserError } from '../shared/errors.ts';
import { runUntilStopped } from './lifecycle.ts';
import type { Output } from './output.ts';
import { createProcessLog } from './terminal.ts';

type SandboxFlags = Parameters<typeof createSandbox>[0] & { readonly port: number };

export async function runSandbox(options: SandboxFlags): Promise<Output> {
  const { logLevel, timeZone, receiver } = readSettings(process.env);
  const log = createProcessLog(logLevel, timeZone);
  const { port } = options;
  const sandbox = await createSandbox({ ...options, host: receiver.host }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new UserError(`Another program listens on port ${port}: name a free one with --port, or 0 for any.`);
  });
  const { url, apiKey } = sandbox;
  runUntilStopped(log, { abandon: () => undefined, close: sandbox.close });
  return {
    json: { url, apiKey },
    text: `The sandbox is running.\n\n  API_BASE_URL=${url}\n  API_KEY=${apiKey}\n\nControl routes: ${url}/_sandbox/. Ctrl-C stops it.`,
  };
}
