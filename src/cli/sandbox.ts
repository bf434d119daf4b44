import type { Command } from 'commander';
import { readSettings } from '../../config/settings.ts';
import { createSandbox } from '../sandbox/sandbox.ts';
import { UserError } from '../shared/errors.ts';
import { createLog } from '../shared/log.ts';
import { jsonFlag, wholeNumber } from './arguments.ts';
import { runCommand } from './failures.ts';
import { runUntilStopped } from './lifecycle.ts';

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('Runs an implementation of the telephony service, with its own account and live traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4010)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--seed <number>', 'seed of all generated data', wholeNumber(), 1)
    .option(
      '--calls <count>',
      'calls in the history of fourteen days, or more days from 14,000 calls',
      wholeNumber(),
      400,
    )
    .option('--threads <count>', 'text conversations at the start', wholeNumber(), 60)
    .option('--no-traffic', 'generate no live traffic')
    .option('--plain-redirects', 'allow OAuth clients a redirect address without TLS on the loopback address')
    .option(...jsonFlag)
    .action((options) => runCommand(() => run(options)));
}

interface SandboxFlags {
  readonly host: string;
  readonly port: number;
  readonly seed: number;
  readonly calls: number;
  readonly threads: number;
  readonly traffic: boolean;
  readonly plainRedirects?: boolean;
  readonly json?: boolean;
}

/** Runs only the sandbox, until SIGTERM or Ctrl-C. */
export async function run({ plainRedirects, json, ...chosen }: SandboxFlags): Promise<void> {
  const log = createLog(readSettings(process.env).logLevel);
  const { port } = chosen;
  const options = { ...chosen, plainLoopbackRedirects: plainRedirects === true };
  const sandbox = await createSandbox(options).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new UserError(`Another program listens on port ${port}: name a free one with --port, or 0 for any.`);
  });
  const { url, apiKey } = sandbox;
  console.log(
    json
      ? JSON.stringify({ url, apiKey })
      : `The sandbox is running.\n\n  API_BASE_URL=${url}\n  API_KEY=${apiKey}\n\nControl routes: ${url}/_sandbox/. Ctrl-C stops it.`,
  );
  runUntilStopped(log, { abandon: () => undefined, close: sandbox.close });
}
