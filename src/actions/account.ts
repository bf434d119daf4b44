import * as z from 'zod';
import { accountReads, createService, isNotFound } from '../api-client/client.ts';
import { acceptAccount, compareAccount } from '../credentials/account-check.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { isOurAddress } from '../sync/subscriptions/matching.ts';
import { type ActionDeps, action } from './action.ts';

const noApi = 'Set API_BASE_URL and API_KEY.';

/** How many lines and users the account that answers lists. Null: the list was refused. */
async function countAnswered({ db, settings, log }: ActionDeps) {
  const { baseUrl, key } = settings.api;
  if (baseUrl === undefined || key === undefined) throw new UserError(noApi);
  // That of the process refuses to ask another account.
  const service = createService({ baseUrl, apiKey: key, log });
  try {
    const reads = accountReads(service);
    if ((await compareAccount(db, reads)) === undefined)
      throw new UserError('The account that answers is the mirrored one: nothing to accept.');
    const count = (asked: Promise<readonly string[]>) => asked.then(({ length }) => length).catch(() => null);
    const counts = { lines: await count(reads.lines()), users: await count(reads.users()) };
    if (counts.lines === null && counts.users === null)
      throw new UserError('The service lists neither lines nor users: check API_BASE_URL and API_KEY.');
    return { lines: counts.lines ?? 0, users: counts.users ?? 0 };
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
      return {
        sentence: `The account that answers lists ${lines} lines and ${users} users. What the mirror holds and this account does not have will be marked deleted, after three spaced reads.`,
      };
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
    args: z.object({ id: z.coerce.number('The id is a whole number.').int('The id is a whole number.').positive() }),
    async question(deps, { id }) {
      const { found } = await subscriptionOf(deps, id);
      const isOurs = isOurAddress(deps.settings.receiver, found.url);
      return {
        sentence: `The subscription ${id} (${found.name ?? 'without a name'}) would be deleted. Its address is ${isOurs ? 'ours' : 'another than ours'}.`,
      };
    },
    async run(deps, { id }) {
      const { service } = await subscriptionOf(deps, id);
      await service.webhooks.remove(id).catch((error: unknown) => {
        throw isNotFound(error) ? noSuch(id) : error;
      });
    },
    done: 'It is deleted at the service.',
    page: () => '/',
  }),
];
