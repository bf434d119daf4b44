import {
  findDelivery,
  type InboxDeps,
  listDeliveries,
  type ReplayResult,
  reparseDeliveries,
  replayDelivery,
  replaySince,
  type StoredDelivery,
  unreadBody,
} from '../inbox/stored-deliveries.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { countOf, toTheSecond } from '../shared/format.ts';
import { maskNumbers, maskTarget } from '../shared/masking.ts';
import { maxReferences } from '../webhooks/extract.ts';
import { openContext, openDatabase } from './environment.ts';
import { type Column, type Output, pairsOf, tableOf } from './output.ts';

/** The newest deliveries, of each its targets without whole numbers. */
export async function listEvents({ unrecognized, since }: { unrecognized?: boolean; since?: Date }): Promise<Output> {
  await using database = await openDatabase('events');
  const found = await listDeliveries(database.db, { isUnrecognized: unrecognized, since });
  const columns: Column<Listed>[] = [
    ['id', ({ id }) => id],
    ['received', ({ receivedAt }) => receivedAt],
    ['type', ({ type }) => type],
    ['bytes', ({ bytes }) => bytes],
    ['points at', describeTargets],
  ];
  const { timeZone } = database.settings;
  return tableOf(found.map(listed), columns, { timeZone, empty: 'There is no such delivery.' });
}

type Listed = ReturnType<typeof listed>;

function listed({ body, userAgent: _, contentType: __, targets, ...delivery }: StoredDelivery) {
  return { ...delivery, targets: targets.map(maskTarget), bytes: delivery.unreadBytes ?? Buffer.byteLength(body) };
}

function describeTargets({ isErased, isRecognized, targets }: Listed): string {
  const first = targets.slice(0, 3).join('\n') + (targets.length > 3 ? `\nand ${targets.length - 3} more` : '');
  if (isErased) return ['erased', first].filter((each) => each !== '').join('\n');
  if (isRecognized) return first;
  return targets.length === 0 ? 'not recognized' : `${first}\nand more, not taken`;
}

export async function showEvent(id: string): Promise<Output> {
  await using database = await openDatabase('events');
  const found = await findDelivery(database.db, id);
  if (!found) throw noSuch(id);
  const facts = pairsOf({
    received: toTheSecond(found.receivedAt, database.settings.timeZone),
    type: found.type ?? 'none in the address',
    'body says': found.claimedType ?? 'nothing',
    'content type': found.contentType ?? 'none',
    sender: found.userAgent ?? 'none',
    recognized: recognition(found),
    'points at': found.targets.join(', ') || 'nothing',
  });
  const body = (await unreadBody(database.db, id))?.toString() ?? found.body;
  return { json: { ...found, body }, text: `${facts}\n\n${found.isErased ? '(erased)' : laidOut(body)}` };
}

function recognition({ isRecognized, targets }: StoredDelivery): string {
  if (isRecognized) return 'yes';
  if (targets.length === 0) return 'no';
  return `in part: it has more than ${maxReferences} references, and the rest is not taken`;
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** Marks the targets of one delivery, or of all since a given time, as dirty again. */
export function replayEvents(id: string | undefined, { since }: { since?: Date }): Promise<Output> {
  return inInbox(async (deps) => {
    const done = id === undefined ? await replaySince(deps, since ?? new Date()) : await replayDelivery(deps, id);
    if (!done) throw noSuch(id ?? '');
    return resultOf(
      done,
      `${countOf(done.deliveries, 'delivery')} replayed: ${countOf(done.targets, 'target')} will be read again.`,
    );
  });
}

export function reparseEvents(): Promise<Output> {
  return inInbox(async (deps) => {
    const done = await reparseDeliveries(deps);
    return resultOf(
      done,
      `${countOf(done.deliveries, 'delivery')} recognized: ${countOf(done.targets, 'target')} will be read.`,
    );
  });
}

/** For commands that enqueue reads. */
async function inInbox(work: (deps: InboxDeps) => Promise<Output>): Promise<Output> {
  await using context = await openContext('events');
  const { database, notifier } = context;
  const output = await work({ db: database.db, notify: notifier.notify });
  await notifier.idle();
  return output;
}

function resultOf({ deliveries, targets }: ReplayResult, text: string): Output {
  return { json: { deliveries, targets }, text };
}

function noSuch(id: string): UserError {
  return new UserError(`There is no delivery ${maskNumbers(id)}: ${toType('events list')} shows those that are kept.`);
}
