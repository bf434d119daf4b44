import { accountReads, createService } from '../api-client/client.ts';
import { acceptAccount, accountRemedy, compareAccount, readAccount } from '../credentials/account.ts';
import type { Database } from '../db/database.ts';
import { ago, countOf } from '../ops/format.ts';
import { UserError } from '../shared/errors.ts';
import { api, openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { type ConsentFlags, confirm, createCommandLog } from './terminal.ts';

/** The account that answers, compared with the mirrored one. */
interface Answering {
  /** Null when the list was refused. */
  readonly lines: number | null;
  readonly users: number | null;
  /** Why it is not the mirrored one; undefined when it is. */
  readonly problem: string | undefined;
}

/** Shows whether the account that answers is the mirrored one; exit code 1 if not. */
export function showAccount(): Promise<Output> {
  return withAnswering(async (db, { lines, users, problem }) => {
    const stored = await readAccount(db);
    const last = stored?.recognizedAt;
    return {
      json: { isRecognized: problem === undefined, problem, lines, users, ...stored },
      text: [
        `${describe({ lines, users })} It was last recognized ${last ? ago(last, new Date()) : 'never'}.`,
        problem === undefined ? 'It is the mirrored account.' : `Not recognized: ${problem}. ${accountRemedy}`,
      ].join('\n'),
      failed: problem !== undefined,
    };
  });
}

/** Takes the account that answers as the mirrored one, after confirmation. */
export function accept(flags: ConsentFlags): Promise<Output> {
  return withAnswering(async (db, { problem, ...counts }) => {
    if (problem === undefined) throw new UserError('The account that answers is the mirrored one: nothing to accept.');
    if (counts.lines === null && counts.users === null) {
      throw new UserError('The service lists neither lines nor users: check API_BASE_URL and API_KEY.');
    }
    const sentence = `${describe(counts)} What the mirror holds and this account does not have will be marked deleted, after three spaced reads.`;
    const preview = await confirm(flags, async () => ({ sentence, data: counts }));
    if (preview) return preview;
    await acceptAccount(db);
    return {
      json: { ...counts, isDone: true },
      text: 'Accepted: every process resumes within seconds, and call history is compared again.',
    };
  });
}

function describe({ lines, users }: Pick<Answering, 'lines' | 'users'>): string {
  return `The account that answers lists ${countOf(lines ?? 0, 'line')} and ${countOf(users ?? 0, 'user')}.`;
}

async function withAnswering(work: (db: Database, answering: Answering) => Promise<Output>): Promise<Output> {
  await using database = await openDatabase('account', { needed: api });
  const { db, settings } = database;
  const log = createCommandLog('error');
  const { baseUrl = '', key = '' } = settings.api;
  const service = createService({ baseUrl, apiKey: key, log });
  try {
    const reads = accountReads(service);
    const count = (asked: Promise<readonly string[]>) => asked.then(({ length }) => length).catch(() => null);
    const problem = await compareAccount(db, reads);
    return await work(db, { problem, lines: await count(reads.lines()), users: await count(reads.users()) });
  } finally {
    await service.close();
  }
}
