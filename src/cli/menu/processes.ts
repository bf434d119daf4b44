import { type Command, InvalidArgumentError } from 'commander';
import { type QueueName, queueNames } from '../../../config/queues.ts';
import { reporting } from '../exit.ts';
import type { Entry } from '../program.ts';
import { jsonFlag, whenReadyFlag, wholeNumber } from './arguments.ts';

/** What runs until it is told to stop. */
export function addProcesses(program: Command, entry: Entry): void {
  program
    .command('start')
    .description('Everything in one process: Postgres and the sandbox unless the environment names real ones.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/start.ts')).run(entry, options)));
  program
    .command('web')
    .description('The receiver of webhooks, with the status page. Registers the webhooks when PUBLIC_URL is set.')
    .option(...whenReadyFlag)
    .action((options) => reporting(async () => (await import('../commands/web.ts')).run(options)));
  program
    .command('worker')
    .description('Works the queues: reads what is due through the API and mirrors it. Any number may run.')
    .option('--queues <names>', `only these queues, separated by commas: ${queueNames.join(', ')}`, queueList)
    .option(...whenReadyFlag)
    .action((options) => reporting(async () => (await import('../commands/worker.ts')).run(entry, options)));
  program
    .command('sandbox')
    .description('A runnable imitation of the telephony service, with an account of its own and living traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4010)
    .option('--seed <number>', 'decides everything that is invented', wholeNumber(), 1)
    .option('--calls <count>', 'calls of the history: fourteen days, more from 14,000 calls on', wholeNumber(), 400)
    .option('--threads <count>', 'text conversations at the start', wholeNumber(), 60)
    .option('--no-traffic', 'nothing happens by itself')
    .option('--plain-redirects', 'take redirect addresses of OAuth clients without TLS on the loopback address')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/sandbox.ts')).run(options)));
}

function queueList(text: string): QueueName[] {
  return text.split(',').map((word) => {
    const name = queueNames.find((each) => each === word.trim());
    if (name === undefined) {
      throw new InvalidArgumentError(`There is no queue "${word.trim()}"; there are ${queueNames.join(', ')}.`);
    }
    return name;
  });
}
