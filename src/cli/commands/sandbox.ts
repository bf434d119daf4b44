import { readSettings } from '../../../config/settings.ts';
import { createLog } from '../../log.ts';
import { createSandbox } from '../../sandbox/sandbox.ts';
import { CommandFailed } from '../exit.ts';
import { runUntilStopped } from '../lifetime.ts';

interface SandboxFlags {
  readonly port: number;
  readonly seed: number;
  readonly calls: number;
  readonly threads: number;
  readonly traffic: boolean;
  readonly plainRedirects?: boolean;
  readonly json?: boolean;
}

/** Runs the sandbox alone, until it is told to stop. */
export async function run({ port, seed, calls, threads, traffic, plainRedirects, json }: SandboxFlags): Promise<void> {
  const log = createLog(readSettings(process.env).logLevel);
  const plainLoopbackRedirects = plainRedirects === true;
  const options = { port, seed, calls, threads, traffic, plainLoopbackRedirects };
  const sandbox = await createSandbox(options).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new CommandFailed(`Another program listens on port ${port}: name a free one with --port, or 0 for any.`);
  });
  const { url, apiKey } = sandbox;
  console.log(
    json
      ? JSON.stringify({ url, apiKey })
      : `The sandbox listens.\n\n  API_BASE_URL=${url}\n  API_KEY=${apiKey}\n\nControl routes lie under ${url}/_sandbox/. Ctrl-C stops it.`,
  );
  runUntilStopped(log, { abandon: () => undefined, close: sandbox.close });
}
