import { type Command, InvalidArgumentError } from 'commander';
import { type QueueName, queueNames } from '../../../config/queues.ts';
import { jsonFlag, whenReadyFlag, wholeNumber } from '../arguments.ts';
import { runCommand } from '../failures.ts';
import type { Entry } from '../lifecycle.ts';

const start = () => import('../start.ts');
const web = () => import('../web.ts');
const worker = () => import('../worker.ts');
const sandbox = () => import('../sandbox.ts');

export function addStart(program: Command, entry: Entry): void {
  program
    .command('start')
    .description(
      'Runs everything in one process, with an embedded Postgres and the sandbox unless real ones are configured.',
    )
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await start()).run(entry, options)));
}

export function addWeb(program: Command): void {
  program
    .command('web')
    .description('Receives webhooks and serves the status page. Registers the webhooks when PUBLIC_URL is set.')
    .option(...whenReadyFlag)
    .action((options) => runCommand(async () => (await web()).run(options)));
}

export function addWorker(program: Command, entry: Entry): void {
  program
    .command('worker')
    .description('Processes the queues: reads due targets through the API and mirrors them. Any number may run.')
    .option('--queues <names>', `only these queues, separated by commas: ${queueNames.join(', ')}`, queueList)
    .option(...whenReadyFlag)
    .action((options) => runCommand(async () => (await worker()).run(entry, options)));
}

function queueList(text: string): QueueName[] {
  return text.split(',').map((word) => {
    const name = queueNames.find((each) => each === word.trim());
    if (name === undefined) {
      throw new InvalidArgumentError(`There is no queue "${word.trim()}". The queues are ${queueNames.join(', ')}.`);
    }
    return name;
  });
}

export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('Runs an implementation of the telephony service, with its own account and live traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4010)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--seed <number>', 'seed of all generated data', wholeNumber(), 1)
    .option(
      '--calls <count>',
      'calls in the history, spread over fourteen days; over more days from 14,000 calls',
      wholeNumber(),
      400,
    )
    .option('--threads <count>', 'text conversations at the start', wholeNumber(), 60)
    .option('--no-traffic', 'generate no live traffic')
    .option('--plain-redirects', 'allow OAuth clients a redirect address without TLS on the loopback address')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await sandbox()).run(options)));
}
