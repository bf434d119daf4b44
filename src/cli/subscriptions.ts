import type { Service } from '../api-client/client.ts';
import type { Context } from '../context.ts';
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
    const rows = data.map(({ id, name, type, enabled, url }) => {
      const host = url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
      return { id, name, type, enabled, host, ours: isOurAddress(settings.receiver, url) };
    });
    return tableOf(rows, [
      ['id', ({ id }) => id],
      ['type', ({ type }) => type],
      ['enabled', ({ enabled }) => (enabled ? 'yes' : 'no')],
      ['ours', ({ ours }) => (ours ? 'yes' : 'no')],
      ['host', ({ host }) => host],
      ['name', ({ name }) => name],
    ]);
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
      json: ensured.map(({ url, ...each }) => (each.toDo?.needsAddress ? { ...each, url } : each)),
      text: ensured.map(sentenceOf).join('\n'),
      failed: ensured.some(({ outcome }) => outcome === 'to_create_by_hand'),
    };
  });
}

async function asking(work: (service: Service, context: Context) => Promise<Output>): Promise<Output> {
  await using context = await openContext('subscriptions', { needed: api });
  return await work(context.service as Service, context);
}

/** The URL contains the receiver's secret, so it's only printed if the operator has to enter it. */
function sentenceOf({ type, url, outcome, subscriptionId, reason, toDo }: Ensured): string {
  if (outcome !== 'to_create_by_hand') return `${type}: ${outcome.replace('_', ' ')} (subscription ${subscriptionId}).`;
  const what = toDo?.instruction ?? `Create a webhook of type ${type} in its portal`;
  const address = toDo === undefined || toDo.needsAddress ? `, with this address:\n  ${url}` : '.';
  return `${type}: the service refused (${reason}). Do it by hand: ${what}${address}`;
}
