import * as z from 'zod';
import { accountReads, createService, isNotFound } from '../api-client/client.ts';
import { acceptAccount, compareAccount } from '../credentials/account-check.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { isOurAddress } from '../sync/subscriptions/matching.ts';
import { type ActionDeps, action, wholeNumber } from './action.ts';

const noApi = 'Set API_BASE_URL and API_KEY.';

/** How many lines and users the account that answers lists; 0 of a list that it refuses. */
async function countAnswered({ db, settings, log }: ActionDeps) {
  const { baseUrl, key } = settings.api;
  if (baseUrl === undefined || key === undefined) throw new UserError(noApi);
  // That of the process refuses to ask another account.
  const service = createService({ baseUrl, apiKey: key, log });
  try {
    const reads = accountReads(service);
    if ((await compareAccount(db, reads)) === undefined)
      throw new UserError('The account that answers is the mirrored one: nothing to accept.');
    const [lines, users] = await Promise.allSettled([reads.lines(), reads.users()]);
    if (lines.status === 'rejected' && users.status === 'rejected')
      throw new UserError('The service lists neither lines nor users: check API_BASE_URL and API_KEY.');
    const count = (list: typeof lines) => (list.status === 'fulfilled' ? list.value.length : 0);
    return { lines: count(lines), users: count(users) };
  } finally {
    await service.close();
  }
}

/** The subscription as the service has it, and whether its address is ours. */
async function subscriptionOf({ service }: ActionDeps, id: number) {
  if (!service) throw new UserError(noApi);
  const found = (await service.webhooks.list()).data.find((each) => each.id === id);
  if (found) return { service, found };
  throw noSuch(id);
}

const noSuch = (id: number) =>
  new UserError(`There is no subscription ${id} on this account: ${toType('subscriptions list')} shows them.`);

export const accountActions = [
  action({
    name: 'account accept',
    help: 'Takes the account that answers as the mirrored one, after its data was replaced.',
    needs: 'api',
    args: z.object({}),
    async question(deps) {
      const { lines, users } = await countAnswered(deps);
      const sentence = `The account that answers lists ${countOf(lines, 'line')} and ${countOf(users, 'user')}. What the mirror holds and this account lacks would be marked deleted, after three spaced reads.`;
      return { sentence };
    },
    async run(deps) {
      const counts = await countAnswered(deps);
      await acceptAccount(deps.db);
      return counts;
    },
    done: 'Accepted: every process resumes within seconds, and call history is compared again.',
    page: () => '/',
  }),
  action({
    name: 'subscriptions remove',
    help: 'Deletes a webhook subscription at the service. A running receiver creates ours again: stop it first.',
    words: '<id>',
    needs: 'api',
    args: z.object({ id: wholeNumber('The id is a whole number.') }),
    async question(deps, { id }) {
      const { found } = await subscriptionOf(deps, id);
      const whose = isOurAddress(deps.settings.receiver, found.url) ? 'ours' : 'another than ours';
      const name = found.name ?? 'without a name';
      return { sentence: `The subscription ${id} (${name}) would be deleted. Its address is ${whose}.` };
    },
    async run(deps, { id }) {
      const { service } = await subscriptionOf(deps, id);
      await service.webhooks.remove(id).catch((error: unknown) => {
        throw isNotFound(error) ? noSuch(id) : error;
      });
    },
    done: 'Deleted at the service.',
    page: () => '/',
  }),
];
