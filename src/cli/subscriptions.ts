import { type Service, ServiceError } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { ensureSubscriptions } from '../sync/subscriptions/ensure.ts';
import { isOurAddress } from '../sync/subscriptions/matching.ts';
import type { Ensured } from '../sync/subscriptions/store.ts';
import { api, openContext } from './environment.ts';
import { type Output, tableOf } from './output.ts';

/** Lists all subscriptions, ours and others, without their secret URLs. */
export function listSubscriptions(): Promise<Output> {
  return asking(async (service, { settings }) => {
    const { data } = await service.webhooks.list();
    const rows = data.map((subscription) => {
      const { id, name, type, enabled, url } = subscription;
      const host = url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
      return { id, name, type, enabled, host, ours: isOurAddress(settings.receiver, url) };
    });
    const yes = (is: boolean | undefined) => (is ? 'yes' : 'no');
    return tableOf(
      rows,
      [
        ['id', ({ id }) => id],
        ['type', ({ type }) => type],
        ['enabled', ({ enabled }) => yes(enabled)],
        ['ours', ({ ours }) => yes(ours)],
        ['host', ({ host }) => host],
        ['name', ({ name }) => name],
      ],
      {},
    );
  });
}

/** Ensures that our subscriptions exist, and prints those that the operator has to create manually. */
export function ensureOurs(): Promise<Output> {
  return asking(async (service, { database, log, settings }) => {
    const { publicUrl, secret, previousSecret } = settings.receiver;
    if (publicUrl === undefined || secret === undefined) {
      throw new UserError('Set PUBLIC_URL and WEBHOOK_SECRET: the webhook addresses are made of them.');
    }
    const ensured = await ensureSubscriptions({ service, db: database.db, log, publicUrl, secret, previousSecret });
    return {
      json: ensured.map(withoutSecret),
      text: ensured.map(sentenceOf).join('\n'),
      failed: ensured.some(({ outcome }) => outcome === 'to_create_by_hand'),
    };
  });
}

/** Deletes one subscription. Requires a flag if it isn't ours. */
export function removeSubscription(id: number, { yes = false }: { yes?: boolean }): Promise<Output> {
  return asking(async (service, { settings }) => {
    const { data } = await service.webhooks.list();
    const found = data.find((each) => each.id === id);
    if (found === undefined) throw noSuch(id);
    if (!yes && !isOurAddress(settings.receiver, found.url)) {
      throw new UserError(
        `Subscription ${id} (${found.name ?? 'without a name'}) has another address than ours: --yes removes it anyway.`,
      );
    }
    await service.webhooks.remove(id).catch(explainMissing(id));
    return { json: { id, isRemoved: true }, text: `Subscription ${id} is removed.` };
  });
}

function explainMissing(id: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof ServiceError && error.advice === 'not_found' ? noSuch(id) : error;
  };
}

function noSuch(id: number): UserError {
  return new UserError(`There is no subscription ${id} on this account: ${toType('subscriptions list')} shows them.`);
}

async function asking(work: (service: Service, context: Context) => Promise<Output>): Promise<Output> {
  await using context = await openContext('subscriptions', { needed: api });
  return await work(context.service as Service, context);
}

/** The URL contains the receiver's secret, so it is only printed if the operator has to enter it manually. */
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
        return `${type}: the service refused (${reason}). Do it by hand: ${toDo.instruction}${address}`;
      }
      return `${type}: the service refused (${reason}). Create a webhook in its portal, of type ${type}, with this address:\n  ${url}`;
  }
}
