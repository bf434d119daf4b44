import { type Service, ServiceError } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { type Erasure, erasableNumber, eraseNumber, previewErasure, refuseOwnNumber } from '../privacy/erase.ts';
import {
  type ErasableAtService,
  eraseAtService,
  listErasableAtService,
  type ServiceErasure,
} from '../privacy/erase-at-service.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { spellingsOf } from '../shared/phone-numbers.ts';
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
  const held = flags.atService ? await listErasableAtService(db, number) : undefined;
  const preview = await confirm(flags, async () => {
    const erasure = await previewErasure(db, number);
    const left = remaining(context, held !== undefined);
    const sentence = [report(erasure, false), ...wouldDelete(held, number), left.join('\n')].join('\n');
    return {
      sentence,
      data: { ...erasure, ...(held && { atService: { held: named(held, number) } }), remaining: left },
    };
  });
  if (preview) return preview;
  // At the service first: the list comes from the mirror, so an interrupted erasure can be repeated.
  const atService = held && (await deleteAtService(context.service as Service, held));
  const erasure = await eraseNumber({ db, queues: context.queues }, number);
  const left = remaining(context, held !== undefined);
  const serviceResult = atService && {
    atService: { deleted: named(atService.deleted, number), refused: named(atService.refused, number) },
  };
  return {
    json: { ...erasure, ...serviceResult, remaining: left, isDone: true },
    text: [report(erasure, true), ...(atService ? deletedWords(atService, number) : []), ...left].join('\n'),
    failed: atService !== undefined && atService.refused.length > 0,
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

function report({ number, removed }: Erasure, isDone: boolean): string {
  const places = Object.entries(removed).sort(([a], [b]) => (a < b ? -1 : 1));
  if (places.length === 0) {
    return isDone
      ? `Nothing of ${number} was left to delete; it will not be stored again.`
      : `Nothing of ${number} is stored; from now on nothing would be.`;
  }
  const verdict = isDone
    ? `${number} is erased and will not be stored again.`
    : `This would be permanently deleted of ${number}. Rows of calls would stay, without the person.`;
  return `${renderColumns(['table', 'rows'], places)}\n\n${verdict}`;
}

/** What an erasure can't remove, one sentence each. */
function remaining({ settings }: Context, isAtService: boolean): string[] {
  return [
    'What this does not erase:',
    isAtService
      ? '- the service: it keeps calls, recordings and transcripts, which its API cannot delete, and what it refused. Delete them in its portal.'
      : `- the service: nothing was deleted there. ${toType('erase <number> --at-service')} deletes the texts there; delete calls, recordings and transcripts in its portal.`,
    '- back-ups, replicas, exports, and logs of other programs.',
    '- Postgres’ write-ahead log and its archive, and pages of its files until VACUUM and later writes reuse them.',
    settings.redisUrl !== undefined &&
      '- Redis’ append-only file and dumps, until it rewrites them (BGREWRITEAOF, BGSAVE).',
    '- numbers in what others wrote or said: texts, transcripts, notes, names and the rules file.',
    '- the planner’s statistics in Postgres, until it analyzes the tables again (ANALYZE).',
  ].filter((each) => each !== false);
}

function wouldDelete(held: readonly ErasableAtService[] | undefined, number: string): string[] {
  if (held === undefined) return [];
  return ['This would be deleted at the service:', ...held.map((each) => `- ${nameOf(each, number)}`)];
}

function deletedWords({ deleted, refused }: ServiceErasure, number: string): string[] {
  return [
    `Deleted at the service: ${deleted.length}.`,
    ...(refused.length > 0 ? ['The service refused to delete these:'] : []),
    ...refused.map((each) => `- ${nameOf(each, number)}: ${each.reason}`),
  ];
}

/** The deletions as JSON, with the person's number masked. */
function named<Held extends ErasableAtService>(held: readonly Held[], number: string): Held[] {
  return held.map((each) => ({ ...each, number: maskedOf(each, number) }));
}

function nameOf(held: ErasableAtService, number: string): string {
  const thread = `${held.line}/${maskedOf(held, number)}`;
  return held.messageId === undefined ? `the thread ${thread}` : `the text ${held.messageId} in the thread ${thread}`;
}

function maskedOf(held: ErasableAtService, number: string): string {
  return spellingsOf(number).includes(held.number) ? `…${held.number.slice(-4)}` : held.number;
}
