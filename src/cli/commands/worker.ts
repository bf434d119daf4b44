import { type Command, InvalidArgumentError } from 'commander';
import { type QueueName, queueNames } from '../../../config/queues.ts';
import { readSettings } from '../../../config/settings.ts';
import { createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { reporting } from '../exit.ts';
import { drainMs, runUntilStopped } from '../lifetime.ts';
import type { Entry } from '../program.ts';

export function addWorker(program: Command, entry: Entry): void {
  program
    .command('worker')
    .description('Works the queues: reads what is due through the API and mirrors it. Any number may run.')
    .option('--queues <names>', `only these queues, separated by commas: ${queueNames.join(', ')}`, queueList)
    .action((options: { queues?: QueueName[] }) =>
      reporting(async () => {
        const settings = readSettings(process.env, { needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
        const log = createLog(settings.logLevel);
        const context = await createContext(readySettings(settings), { log, name: 'worker', maxConnections: 8 });
        const workers = await entry.startWorkers(context, options.queues ? { queues: options.queues } : {});
        const connections = 8 + context.queues.connections();
        log.info({ queues: options.queues ?? queueNames, connections }, 'The worker works');
        runUntilStopped(log, async () => {
          await workers.close(drainMs);
          await context[Symbol.asyncDispose]();
        });
      }),
    );
}

function queueList(text: string): QueueName[] {
  return text.split(',').map((word) => {
    const name = queueNames.find((each) => each === word.trim());
    if (name === undefined) throw new InvalidArgumentError(`There is no queue "${word.trim()}".`);
    return name;
  });
}
