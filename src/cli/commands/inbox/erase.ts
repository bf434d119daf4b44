import Table from 'cli-table3';
import { type Context, createContext, readySettings } from '../../../context.ts';
import { type Erasure, eraseNumber, NotErasable, previewErasure } from '../../../erasure/erase.ts';
import { erasableNumber, refuseOwnNumber } from '../../../erasure/number.ts';
import { type AtService, eraseAtService, type HeldAtService, listAtService } from '../../../erasure/service.ts';
import { optOutChange } from '../../../ledger/gates/opt-out.ts';
import { ServiceError } from '../../../service/client.ts';
import { spellingsOf } from '../../../warehouse/erasure/mentions.ts';
import { type ConsentFlags, consents } from '../../consent.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed, exitCodes, WrongUse } from '../../exit.ts';
import { sentenceOf } from '../../failures.ts';
import { createRemarks } from '../../remarks.ts';

interface Flags extends ConsentFlags {
  readonly atService?: boolean;
}

/** Removes a person, after a look where one is wanted. The number is shown by its last four digits alone. */
export async function run(given: string, flags: Flags): Promise<void> {
  const number = numberOf(given);
  const settings = await commandSettings({
    needed: flags.atService ? ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] : ['DATABASE_URL'],
  });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'erase', maxConnections: 2 });
  const { db } = context.database;
  await refuseOwnNumber(db, number);
  const held = flags.atService ? await listAtService(db, number) : undefined;
  const isMeant = await consents(flags, async () => {
    const erasure = await previewErasure(db, number);
    const left = remaining(erasure, context, held !== undefined);
    const sentence = [report(erasure, false), ...wouldDelete(held, number), left.join('\n')].join('\n');
    return {
      sentence,
      facts: { ...erasure, ...(held && { atService: { held: named(held, number) } }), remaining: left },
    };
  });
  if (!isMeant) return;
  // First: the mirror knows which texts these are, so that both are repeated when this is cut off.
  const atService = held && (await deleteAtService(context, held));
  const erasure = await eraseNumber({ db, queues: context.queues, optOutChange }, number);
  const left = remaining(erasure, context, held !== undefined);
  if (flags.json) {
    const told = atService && {
      atService: { deleted: named(atService.deleted, number), refused: named(atService.refused, number) },
    };
    console.log(JSON.stringify({ ...erasure, ...told, remaining: left, isDone: true }));
  } else {
    console.log([report(erasure, true), ...(atService ? deletedWords(atService, number) : []), ...left].join('\n'));
  }
  if (atService && atService.refused.length > 0) process.exitCode = exitCodes.failed;
}

/** What cannot be a number is wrong use, whatever is held. */
function numberOf(given: string): string {
  try {
    return erasableNumber(given);
  } catch (error) {
    throw error instanceof NotErasable ? new WrongUse(error.message) : error;
  }
}

async function deleteAtService({ service }: Context, held: readonly HeldAtService[]): Promise<AtService> {
  if (!service) throw new CommandFailed('Set API_BASE_URL and API_KEY to delete at the service.');
  try {
    return await eraseAtService(service, held);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new CommandFailed(
      `${sentenceOf(error)} Nothing was erased here yet, so that the same command finds again what is left to delete: repeat it.`,
    );
  }
}

function report({ number, removed }: Erasure, isDone: boolean): string {
  const places = Object.entries(removed).sort(([a], [b]) => (a < b ? -1 : 1));
  if (places.length === 0) {
    return isDone
      ? `Nothing was left of ${number}; it is kept out.`
      : `Nothing is held of ${number}; it would be kept out from now on.`;
  }
  const table = new Table({ head: ['rows', 'table'], style: { head: [], border: [] }, colAligns: ['right', 'left'] });
  for (const [place, count] of places) table.push([count, place]);
  const verdict = isDone
    ? `${number} is erased, and kept out from now on.`
    : `This would be removed of ${number}, for good; the rows of calls stay without the person.`;
  return `${table.toString()}\n${verdict}`;
}

/** What an erasure does not reach, each in a sentence. */
function remaining({ tablesWithStatistics = [] }: Erasure, { settings }: Context, isAtService: boolean): string[] {
  return [
    'What this does not erase:',
    isAtService
      ? '- the service: it keeps calls, recordings and transcripts, which its API cannot delete, and what it refused. Have them removed in its portal.'
      : '- the service: nothing was deleted there, and it still lists the person. `erase <number> --at-service` deletes the texts there; calls, recordings and transcripts have to be removed in its portal.',
    '- back-ups, replicas, exports, and logs of other programs.',
    '- Postgres’ write-ahead log and its archive, and pages of its files until VACUUM and later writes reuse them.',
    ...(settings.redisUrl === undefined
      ? []
      : ['- Redis’ append-only file and dumps, until it rewrites them (BGREWRITEAOF, BGSAVE).']),
    ...(tablesWithStatistics.length > 0
      ? [
          `- the planner’s statistics of tables that are empty now, until they hold rows and are analysed, or a superuser deletes them from pg_statistic: ${tablesWithStatistics.join(', ')}.`,
        ]
      : []),
  ];
}

function wouldDelete(held: readonly HeldAtService[] | undefined, number: string): string[] {
  if (held === undefined) return [];
  return ['This would be deleted at the service:', ...held.map((each) => `- ${nameOf(each, number)}`)];
}

function deletedWords({ deleted, refused }: AtService, number: string): string[] {
  return [
    `At the service, ${deleted.length} deletes were done.`,
    ...(refused.length > 0 ? ['It refused these, which it still holds:'] : []),
    ...refused.map((each) => `- ${nameOf(each, number)}: ${each.reason}`),
  ];
}

/** The person's own number is masked, as everywhere in what this command prints. */
function named<Held extends HeldAtService>(held: readonly Held[], number: string): Held[] {
  return held.map((each) => ({ ...each, number: maskedOf(each, number) }));
}

function nameOf(held: HeldAtService, number: string): string {
  const thread = `${held.line}/${maskedOf(held, number)}`;
  return held.messageId === undefined ? `the thread ${thread}` : `the text ${held.messageId} in the thread ${thread}`;
}

function maskedOf(held: HeldAtService, number: string): string {
  return spellingsOf(number).includes(held.number) ? `…${held.number.slice(-4)}` : held.number;
}
