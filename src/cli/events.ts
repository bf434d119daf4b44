import type { Database } from '../db/database.ts';
import {
  countBefore,
  discardBefore,
  discardDelivery,
  findDelivery,
  type InboxDeps,
  listDeliveries,
  type ReplayResult,
  reparseDeliveries,
  replayDelivery,
  replaySince,
  type StoredDelivery,
} from '../inbox/stored-deliveries.ts';
import { countOf, toTheSecond } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { maskNumbers, maskTarget } from '../shared/masking.ts';
import { maxReferences } from '../webhooks/extract.ts';
import { openContext, openDatabase } from './environment.ts';
import { type ConsentFlags, confirm, renderColumns } from './terminal.ts';

interface Json {
  readonly json?: boolean;
}

export function runList({
  unrecognized,
  type,
  since,
  limit,
  json,
}: Json & { unrecognized?: boolean; type?: string; since?: Date; limit: number }): Promise<void> {
  return inDatabase(async (db, timeZone) => {
    const found = await listDeliveries(db, { isUnrecognized: unrecognized, type, since }, limit);
    if (json) return console.log(JSON.stringify(found.map(listed)));
    if (found.length === 0) return console.log('There is no such delivery.');
    const head = ['id', 'received', 'type', 'bytes', 'points at'];
    const rows = found.map(listed).map((each) => {
      return [each.id, toTheSecond(each.receivedAt, timeZone), each.type ?? '', each.bytes, describeTargets(each)];
    });
    console.log(renderColumns(head, rows));
  });
}

function listed({ body, userAgent: _, contentType: __, targets, ...delivery }: StoredDelivery) {
  return { ...delivery, targets: targets.map(maskTarget), bytes: Buffer.byteLength(body) };
}

function describeTargets({ isErased, isRecognized, targets }: ReturnType<typeof listed>): string {
  const first = targets.slice(0, 3).join('\n') + (targets.length > 3 ? `\nand ${targets.length - 3} more` : '');
  if (isErased) return ['erased', first].filter((each) => each !== '').join('\n');
  if (isRecognized) return first;
  return targets.length === 0 ? 'not recognized' : `${first}\nand more, not taken`;
}

export function runShow(id: string, { json }: Json): Promise<void> {
  return inDatabase(async (db, timeZone) => {
    const found = await findDelivery(db, id);
    if (!found) throw noSuch(id);
    if (json) return console.log(JSON.stringify(found));
    const { body, targets, receivedAt, ...rest } = found;
    const lines: Record<string, unknown> = {
      received: toTheSecond(receivedAt, timeZone),
      type: rest.type ?? 'none in the address',
      'body says': rest.claimedType ?? 'nothing',
      'content type': rest.contentType ?? 'none',
      sender: rest.userAgent ?? 'none',
      recognized: recognition(found),
      'points at': targets.join(', ') || 'nothing',
    };
    const width = Math.max(...Object.keys(lines).map(({ length }) => length));
    for (const [name, value] of Object.entries(lines)) console.log(`${name.padEnd(width)}  ${value}`);
    console.log(`\n${rest.isErased ? '(erased)' : laidOut(body)}`);
  });
}

function recognition({ isRecognized, targets }: StoredDelivery): string {
  if (isRecognized) return 'yes';
  if (targets.length === 0) return 'no';
  return `in part: it has more than ${maxReferences} references; ${toType('events reparse --unlimited')} takes them all`;
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** Marks the targets of one delivery, or of all since a given time, dirty again. */
export function runReplay(id: string | undefined, { since, json }: Json & { since?: Date }): Promise<void> {
  return inInbox(async (deps) => {
    const done = id === undefined ? await replaySince(deps, since ?? new Date()) : await replayDelivery(deps, id);
    if (!done) throw noSuch(id ?? '');
    print(done, json, `${counted(done.deliveries)} replayed: ${countOf(done.targets, 'target')} will be read again.`);
  });
}

export function runReparse({ all, unlimited, json }: Json & { all?: boolean; unlimited?: boolean }): Promise<void> {
  return inInbox(async (deps) => {
    const done = await reparseDeliveries(deps, { isAll: all, isUnlimited: unlimited });
    print(done, json, `${counted(done.deliveries)} recognized: ${countOf(done.targets, 'target')} will be read.`);
  });
}

/** Deletes one delivery, or all before a given time, after confirmation. */
export function runDiscard(
  id: string | undefined,
  { before, unrecognized = false, ...flags }: ConsentFlags & { before?: Date; unrecognized?: boolean },
): Promise<void> {
  return inDatabase(async (db) => {
    const moment = before ?? new Date(0);
    const isMeant = await confirm(flags, async () => {
      if (id !== undefined && !(await findDelivery(db, id))) throw noSuch(id);
      const deliveries = id === undefined ? await countBefore(db, moment, unrecognized) : 1;
      return { sentence: `${counted(deliveries)} would be discarded.`, data: { deliveries } };
    });
    if (!isMeant) return;
    const deliveries =
      id === undefined ? await discardBefore(db, moment, unrecognized) : Number(await discardDelivery(db, id));
    if (id !== undefined && deliveries === 0) throw noSuch(id);
    console.log(flags.json ? JSON.stringify({ deliveries, isDone: true }) : `${counted(deliveries)} discarded.`);
  });
}

async function inDatabase(work: (db: Database, timeZone: string) => Promise<void>): Promise<void> {
  await using database = await openDatabase('events', { alike: ['TIME_ZONE'] });
  await work(database.db, database.settings.timeZone);
}

/** For what enqueues reads. */
async function inInbox(work: (deps: InboxDeps) => Promise<void>): Promise<void> {
  await using context = await openContext('events');
  const { database, pauses, notifier } = context;
  await work({ db: database.db, pauses, notify: notifier.notify });
  await notifier.idle();
}

function print(done: ReplayResult, json: boolean | undefined, sentence: string): void {
  console.log(json ? JSON.stringify({ deliveries: done.deliveries, targets: done.targets }) : sentence);
}

function counted(deliveries: number): string {
  return deliveries === 1 ? '1 delivery' : `${deliveries} deliveries`;
}

function noSuch(id: string): UserError {
  return new UserError(`There is no delivery ${maskNumbers(id)}: ${toType('events list')} shows those that are kept.`);
}
