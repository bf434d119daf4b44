import { type Command, InvalidArgumentError } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import { createLog } from '../../log.ts';
import { reporting } from '../exit.ts';
import { runUntilStopped } from '../lifetime.ts';

interface SandboxFlags {
  readonly port: number;
  readonly seed: number;
  readonly calls: number;
  readonly threads: number;
  readonly traffic: boolean;
  readonly json?: boolean;
}

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('A runnable imitation of the telephony service, with an account of its own and living traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber, 4010)
    .option('--seed <number>', 'decides everything that is invented', wholeNumber, 1)
    .option('--calls <count>', 'calls of the last fourteen days', wholeNumber, 400)
    .option('--threads <count>', 'text conversations at the start', wholeNumber, 60)
    .option('--no-traffic', 'nothing happens by itself')
    .option('--json', 'print the address and the API key as JSON')
    .action(({ port, seed, calls, threads, traffic, json }: SandboxFlags) =>
      reporting(async () => {
        const log = createLog(readSettings(process.env).logLevel);
        const { createSandbox } = await import('../../sandbox/sandbox.ts');
        const sandbox = await createSandbox({ port, seed, calls, threads, traffic });
        const { url, apiKey } = sandbox;
        console.log(
          json
            ? JSON.stringify({ url, apiKey })
            : `The sandbox listens.\n\n  API_BASE_URL=${url}\n  API_KEY=${apiKey}\n\nControl routes lie under ${url}/_sandbox/. Ctrl-C stops it.`,
        );
        runUntilStopped(log, sandbox.close);
      }),
    );
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
