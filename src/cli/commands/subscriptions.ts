import { type Context, createContext, readySettings } from '../../context.ts';
import { type Service, ServiceError } from '../../service/client.ts';
import { renderColumns } from '../../status/columns.ts';
import { type Ensured, ensureSubscriptions } from '../../sync/subscriptions/ensure.ts';
import { readOwnership } from '../../sync/subscriptions/shown.ts';
import { markBroken } from '../../sync/subscriptions/watched.ts';
import type { Database } from '../../warehouse/database.ts';
import { commandSettings } from '../environment.ts';
import { CommandFailed } from '../exit.ts';
import { createRemarks } from '../remarks.ts';

/** Lists all subscriptions, ours and other people's; addresses are secrets and are not shown. */
export function runList(options: { json?: boolean }): Promise<void> {
  return asking((service, context) => list(service, context, options));
}

/** Puts our subscriptions in place, and prints what nobody but the owner can create. */
export function runEnsure(options: { json?: boolean }): Promise<void> {
  return asking((service, context) => ensure(service, context, options));
}

/** Enables or disables one subscription. */
export function runSwitch(verb: 'enable' | 'disable', id: number, { json }: { json?: boolean }): Promise<void> {
  return asking(async (service, { database, settings }) => {
    if (verb === 'enable') await expectGap(service, database.db, settings.receiver, id);
    const { data } = await service.webhooks[verb](id).catch(explainMissing(id));
    if (json) return console.log(JSON.stringify({ id: data.id, enabled: data.enabled ?? null }));
    console.log(`Subscription ${data.id} is ${data.enabled ? 'enabled' : 'disabled'}.`);
  });
}

/** Deletes one subscription; one that is not ours only when that is wanted. */
export function runRemove(id: number, { yes = false, json }: { yes?: boolean; json?: boolean }): Promise<void> {
  return asking(async (service, { database, settings }) => {
    const { data } = await service.webhooks.list();
    const found = data.find((each) => each.id === id);
    if (found === undefined) throw noSuch(id);
    const isOurs = await readOwnership(database.db, settings.receiver);
    if (!yes && !isOurs(found)) {
      throw new CommandFailed(
        `Subscription ${id} (${found.name ?? 'without a name'}) is not ours by its address: --yes removes it all the same.`,
      );
    }
    await service.webhooks.remove(id).catch(explainMissing(id));
    console.log(json ? JSON.stringify({ id, isRemoved: true }) : `Subscription ${id} is removed.`);
  });
}

/** What one of ours lost while it was disabled is looked for once the receiver finds it in place. */
async function expectGap(
  service: Service,
  db: Database,
  ours: Context['settings']['receiver'],
  id: number,
): Promise<void> {
  const { data } = await service.webhooks.list();
  const found = data.find((each) => each.id === id);
  if (found?.enabled !== false || found.type === undefined) return;
  const isOurs = await readOwnership(db, ours);
  if (isOurs(found)) await markBroken(db, found.type);
}

function explainMissing(id: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof ServiceError && error.advice === 'not_found' ? noSuch(id) : error;
  };
}

function noSuch(id: number): CommandFailed {
  return new CommandFailed(`There is no subscription ${id} on this account: \`subscriptions list\` shows them.`);
}

async function asking(work: (service: Service, context: Context) => Promise<void>): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), {
    log,
    name: 'subscriptions',
    maxConnections: 2,
  });
  await work(context.service as Service, context);
}

async function list(service: Service, { database, settings }: Context, { json }: { json?: boolean }): Promise<void> {
  const { data } = await service.webhooks.list();
  const isOurs = await readOwnership(database.db, settings.receiver);
  const rows = data.map((subscription) => {
    const { id, name, type, enabled, url } = subscription;
    const host = url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
    return { id, name, type, enabled, host, ours: isOurs(subscription) };
  });
  if (json) return console.log(JSON.stringify(rows));
  const head = ['id', 'type', 'enabled', 'ours', 'host', 'name'];
  const yes = (is: boolean | undefined) => (is ? 'yes' : 'no');
  const lines = rows.map((row) => [
    row.id,
    row.type ?? '',
    yes(row.enabled),
    yes(row.ours),
    row.host ?? '',
    row.name ?? '',
  ]);
  console.log(renderColumns(head, lines));
}

async function ensure(service: Service, context: Context, { json }: { json?: boolean }): Promise<void> {
  const { publicUrl, secret, previousSecret } = context.settings.receiver;
  if (publicUrl === undefined || secret === undefined) {
    throw new CommandFailed('Set PUBLIC_URL and WEBHOOK_SECRET: the addresses to deliver to are made of them.');
  }
  const { db } = context.database;
  const ensured = await ensureSubscriptions({
    ...{ service, db, log: context.log, publicUrl, secret, previousSecret },
    isAsked: true,
    sealLink: context.sealLink,
  });
  console.log(json ? JSON.stringify(ensured.map(withoutSecret)) : ensured.map(sentenceOf).join('\n'));
  if (ensured.some(({ outcome }) => outcome === 'to_create_by_hand')) process.exitCode = 1;
}

/** An address is the secret that opens the receiver: only who has to write it down by hand is shown it. */
function withoutSecret({ url, ...ensured }: Ensured): Omit<Ensured, 'url'> & { url?: string } {
  return ensured.toDo?.needsAddress ? { ...ensured, url } : ensured;
}

function sentenceOf({ type, url, outcome, subscriptionId, reason, toDo }: Ensured): string {
  switch (outcome) {
    case 'in_place':
      return `${type}: subscription ${subscriptionId} is in place.`;
    case 'repaired':
      return `${type}: subscription ${subscriptionId} was repaired.`;
    case 'created':
      return `${type}: subscription ${subscriptionId} was created.`;
    case 'to_create_by_hand':
      if (subscriptionId !== undefined && toDo !== undefined) {
        const address = toDo.needsAddress ? `, which is:\n  ${url}` : '.';
        return `${type}: the service refused (${reason}). It is left to you: ${toDo.says}${address}`;
      }
      return `${type}: the service refused (${reason}). Create a webhook in its portal, of type ${type}, with this address:\n  ${url}`;
  }
}
