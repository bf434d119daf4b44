import Table from 'cli-table3';
import type { Command } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import { type Context, createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import type { Service } from '../../service/client.ts';
import { type Ensured, ensureSubscriptions, isOurAddress } from '../../sync/subscriptions.ts';
import { CommandFailed, reporting } from '../exit.ts';

export function addSubscriptions(program: Command): void {
  const group = program.command('subscriptions').description('The webhook subscriptions of the account.');
  group
    .command('list')
    .description('Lists all subscriptions, ours and other people’s; addresses are secrets and are not shown.')
    .option('--json', 'print them as JSON')
    .action((options: { json?: boolean }) => asking((service, context) => list(service, context, options)));
  group
    .command('ensure')
    .description('Creates, enables or retypes our subscriptions; prints what the service lets nobody create but you.')
    .option('--json', 'print what was done as JSON')
    .action((options: { json?: boolean }) => asking((service, context) => ensure(service, context, options)));
  for (const verb of ['disable', 'enable'] as const) {
    group
      .command(`${verb} <id>`)
      .description(verb === 'disable' ? 'Stops the delivery of events; the subscription is kept.' : 'Delivers again.')
      .action((id: string) =>
        asking(async (service) => {
          if (!/^\d+$/.test(id))
            throw new CommandFailed(`"${id}" is no subscription id: \`subscriptions list\` shows them.`);
          const { data } = await service.webhooks[verb](Number(id));
          console.log(`Subscription ${data.id} is ${data.enabled ? 'enabled' : 'disabled'}.`);
        }),
      );
  }
}

function asking(work: (service: Service, context: Context) => Promise<void>): Promise<void> {
  return reporting(async () => {
    const settings = readSettings(process.env, { needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
    const log = createLog('warn');
    await using context = await createContext(readySettings(settings), {
      log,
      name: 'subscriptions',
      maxConnections: 2,
    });
    await work(context.service as Service, context);
  });
}

async function list(service: Service, { settings }: Context, { json }: { json?: boolean }): Promise<void> {
  const { data } = await service.webhooks.list();
  const rows = data.map(({ id, name, type, enabled, url }) => ({
    id,
    name,
    type,
    enabled,
    host: url !== undefined && URL.canParse(url) ? new URL(url).host : undefined,
    ours: url !== undefined && isOurAddress(settings.receiver, url),
  }));
  if (json) return console.log(JSON.stringify(rows));
  const table = new Table({ head: ['id', 'type', 'enabled', 'ours', 'host', 'name'], style: { head: [], border: [] } });
  for (const row of rows) {
    table.push([
      row.id,
      row.type ?? '',
      row.enabled ? 'yes' : 'no',
      row.ours ? 'yes' : 'no',
      row.host ?? '',
      row.name ?? '',
    ]);
  }
  console.log(table.toString());
}

async function ensure(service: Service, context: Context, { json }: { json?: boolean }): Promise<void> {
  const { publicUrl, secret, previousSecret } = context.settings.receiver;
  if (publicUrl === undefined || secret === undefined) {
    throw new CommandFailed('Set PUBLIC_URL and WEBHOOK_SECRET: the addresses to deliver to are made of them.');
  }
  const { db } = context.database;
  const ensured = await ensureSubscriptions({ service, db, log: context.log, publicUrl, secret, previousSecret });
  console.log(json ? JSON.stringify(ensured) : ensured.map(sentenceOf).join('\n'));
  if (ensured.some(({ outcome }) => outcome === 'to_create_by_hand')) process.exitCode = 1;
}

function sentenceOf({ type, url, outcome, subscriptionId, reason }: Ensured): string {
  switch (outcome) {
    case 'in_place':
      return `${type}: subscription ${subscriptionId} is in place.`;
    case 'repaired':
      return `${type}: subscription ${subscriptionId} was repaired.`;
    case 'created':
      return `${type}: subscription ${subscriptionId} was created.`;
    case 'to_create_by_hand':
      return `${type}: the service refused (${reason}). Create a webhook in its portal, of type ${type}, with this address:\n  ${url}`;
  }
}
