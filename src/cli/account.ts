import { accountReads, createService } from '../api-client/client.ts';
import { acceptAccount, compareAccount } from '../credentials/account.ts';
import { UserError } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { api, openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { type ConsentFlags, confirm, createCommandLog } from './terminal.ts';

/** Takes the account that answers as the mirrored one, after confirmation. */
export async function accept(flags: ConsentFlags): Promise<Output> {
  await using database = await openDatabase('account', { needed: api });
  const { db, settings } = database;
  const { baseUrl = '', key = '' } = settings.api;
  const service = createService({ baseUrl, apiKey: key, log: createCommandLog('error') });
  try {
    const reads = accountReads(service);
    if ((await compareAccount(db, reads)) === undefined) {
      throw new UserError('The account that answers is the mirrored one: nothing to accept.');
    }
    // Null when the list was refused.
    const count = (asked: Promise<readonly string[]>) => asked.then(({ length }) => length).catch(() => null);
    const counts = { lines: await count(reads.lines()), users: await count(reads.users()) };
    if (counts.lines === null && counts.users === null) {
      throw new UserError('The service lists neither lines nor users: check API_BASE_URL and API_KEY.');
    }
    const sentence = `The account that answers lists ${countOf(counts.lines ?? 0, 'line')} and ${countOf(counts.users ?? 0, 'user')}. What the mirror holds and this account does not have will be marked deleted, after three spaced reads.`;
    const preview = await confirm(flags, async () => ({ sentence, data: counts }));
    if (preview) return preview;
    await acceptAccount(db);
    return {
      json: { ...counts, isDone: true },
      text: 'Accepted: every process resumes within seconds, and call history is compared again.',
    };
  } finally {
    await service.close();
  }
}
