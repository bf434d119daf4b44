import { type Service, ServiceError } from '../api-client/client.ts';
import { type Erasure, erasableNumber, eraseNumber, previewErasure, refuseOwnNumber } from '../privacy/erase.ts';
import {
  type ErasableAtService,
  eraseAtService,
  listErasableAtService,
  type ServiceErasure,
} from '../privacy/erase-at-service.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { spellingsOf } from '../warehouse/phone-numbers.ts';
import { api, openContext } from './environment.ts';
import { describeFailure } from './failures.ts';
import { type Output, renderColumns } from './output.ts';
import { type ConsentFlags, confirm } from './terminal.ts';

/** Removes a person, after confirmation. Prints only the last four digits of the number. */
export async function erase(given: string, flags: ConsentFlags & { atService?: boolean }): Promise<Output> {
  const number = erasableNumber(given);
  await using context = await openContext('erase', { needed: flags.atService ? api : [] });
  const { db } = context.database;
  await refuseOwnNumber(db, number);
  const spellings = spellingsOf(number);
  const masked = <Held extends ErasableAtService>(held: readonly Held[]): Held[] =>
    held.map((each) => (spellings.includes(each.number) ? { ...each, number: `…${each.number.slice(-4)}` } : each));
  const held = flags.atService ? await listErasableAtService(db, number) : undefined;
  const remaining = whatRemains(held !== undefined);
  const preview = await confirm(flags, async () => {
    const erasure = await previewErasure(db, number);
    const there = held && masked(held);
    return {
      sentence: [
        rowsOf(erasure),
        `This would be permanently deleted of ${erasure.number}. Rows of calls would stay, without the person.`,
        ...(there ? ['This would be deleted at the service:', ...there.map(nameOf)] : []),
        ...remaining,
      ].join('\n'),
      data: { ...erasure, ...(there && { atService: { held: there } }), remaining },
    };
  });
  if (preview) return preview;
  // At the service first: the list comes from the mirror, so an interrupted erasure can be repeated.
  const answers = held && (await deleteAtService(context.service as Service, held));
  const there = answers && { deleted: masked(answers.deleted), refused: masked(answers.refused) };
  const erasure = await eraseNumber({ db, queues: context.queues }, number);
  return {
    json: { ...erasure, ...(there && { atService: there }), remaining, isDone: true },
    text: [
      rowsOf(erasure),
      `${erasure.number} is erased and will not be stored again.`,
      ...(there
        ? [
            `Deleted at the service: ${there.deleted.length}. Refused there: ${there.refused.length}.`,
            ...there.refused.map((each) => `${nameOf(each)}: ${each.reason}`),
          ]
        : []),
      ...remaining,
    ].join('\n'),
    failed: there !== undefined && there.refused.length > 0,
  };
}

async function deleteAtService(service: Service, held: readonly ErasableAtService[]): Promise<ServiceErasure> {
  try {
    return await eraseAtService(service, held);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new UserError(
      `${describeFailure(error)} Nothing was erased here yet. Repeat the command: it continues with what is left.`,
    );
  }
}

function rowsOf({ number, removed }: Erasure): string {
  const places = Object.entries(removed).sort(([a], [b]) => (a < b ? -1 : 1));
  return places.length === 0 ? `No row of ${number} is held.` : `${renderColumns(['table', 'rows'], places)}\n`;
}

function nameOf({ line, number, messageId }: ErasableAtService): string {
  return `- ${messageId === undefined ? '' : `the text ${messageId} in `}the thread ${line}/${number}`;
}

/** What an erasure can't remove, one sentence each. */
function whatRemains(isAtService: boolean): string[] {
  return [
    'What this does not erase:',
    isAtService
      ? '- the service: it keeps calls, recordings and transcripts, which its API can’t delete, and what it refused. Delete them in its portal.'
      : `- the service: nothing was deleted there. ${toType('erase <number> --at-service')} deletes the texts there; delete calls, recordings and transcripts in its portal.`,
    '- back-ups, replicas, exports, and logs of other programs.',
    '- Postgres’ write-ahead log and its archive, and pages of its files until VACUUM and later writes reuse them.',
    '- of a Redis, its append-only file and dumps, until it rewrites them (BGREWRITEAOF, BGSAVE).',
    '- numbers in what others wrote or said: texts, transcripts, notes, names and the rules file.',
    '- the planner’s statistics in Postgres, until it analyzes the tables again (ANALYZE).',
  ];
}
