import { type Context, createContext, readySettings } from '../../../context.ts';
import { maxReferences } from '../../../events/extract.ts';
import {
  countBefore,
  type Desk,
  discardBefore,
  discardDelivery,
  findDelivery,
  type KeptDelivery,
  listDeliveries,
  type Reworked,
  reparseDeliveries,
  replayDelivery,
  replaySince,
} from '../../../inbox/operations.ts';
import { maskNumbers, maskTarget } from '../../../masking.ts';
import { renderColumns } from '../../../status/columns.ts';
import { toTheSecond } from '../../../status/words.ts';
import type { Database } from '../../../warehouse/database.ts';
import { type ConsentFlags, consents } from '../../consent.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { createRemarks } from '../../remarks.ts';

interface Json {
  readonly json?: boolean;
}

export interface ListFlags extends Json {
  readonly unrecognized?: boolean;
  readonly type?: string;
  readonly since?: Date;
  readonly limit: number;
}

/** Lists kept deliveries, newest first; numbers masked. */
export function runList({ unrecognized, type, since, limit, json }: ListFlags): Promise<void> {
  return inInbox(async ({ database }) => {
    const found = await listDeliveries(database.db, { isUnrecognized: unrecognized, type, since }, limit);
    if (json) return console.log(JSON.stringify(found.map(listed)));
    if (found.length === 0) return console.log('There is no such delivery.');
    const head = ['id', 'received', 'type', 'bytes', 'points at'];
    const rows = found.map(listed).map((each) => {
      return [each.id, toTheSecond(each.receivedAt), each.type ?? '', each.bytes, standing(each)];
    });
    console.log(renderColumns(head, rows));
  });
}

function listed({ body, userAgent: _, contentType: __, targets, ...delivery }: KeptDelivery) {
  return { ...delivery, targets: targets.map(maskTarget), bytes: Buffer.byteLength(body) };
}

function standing({ isErased, isRecognized, targets }: ReturnType<typeof listed>): string {
  const shown = targets.slice(0, 3).join('\n') + (targets.length > 3 ? `\nand ${targets.length - 3} more` : '');
  if (isErased) return ['erased', shown].filter((each) => each !== '').join('\n');
  if (isRecognized) return shown;
  return targets.length === 0 ? 'not understood' : `${shown}\nand more, not taken`;
}

/** Shows one delivery, body and numbers in full. */
export function runShow(id: string, { json }: Json): Promise<void> {
  return inInbox(async ({ database }) => {
    const found = await findDelivery(database.db, id);
    if (!found) throw noSuch(id);
    if (json) return console.log(JSON.stringify(found));
    const { body, targets, receivedAt, ...rest } = found;
    const lines: Record<string, unknown> = {
      received: toTheSecond(receivedAt),
      type: rest.type ?? 'none in the address',
      'body says': rest.claimedType ?? 'nothing',
      'content type': rest.contentType ?? 'none',
      sender: rest.userAgent ?? 'none',
      understood: understood(found),
      'points at': targets.join(', ') || 'nothing',
    };
    const width = Math.max(...Object.keys(lines).map(({ length }) => length));
    for (const [name, value] of Object.entries(lines)) console.log(`${name.padEnd(width)}  ${value}`);
    console.log(`\n${rest.isErased ? '(erased)' : laidOut(body)}`);
  });
}

function understood({ isRecognized, targets }: KeptDelivery): string {
  if (isRecognized) return 'yes';
  if (targets.length === 0) return 'no';
  return `in part: it names more than ${maxReferences} things; \`events reparse --unlimited\` takes them all`;
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** Bumps again what one delivery, or all since a moment, point at. */
export function runReplay(id: string | undefined, { since, json }: Json & { since?: Date }): Promise<void> {
  return inInbox(async (context) => {
    const desk = deskOf(context);
    const done = id === undefined ? await replaySince(desk, since ?? new Date()) : await replayDelivery(desk, id);
    if (!done) throw noSuch(id ?? '');
    tell(done, json, `${counted(done.deliveries)} replayed: ${things(done.targets)} will be read again.`);
  });
}

/** Runs today's extraction over kept deliveries. */
export function runReparse({ all, unlimited, json }: Json & { all?: boolean; unlimited?: boolean }): Promise<void> {
  return inInbox(async (context) => {
    const done = await reparseDeliveries(deskOf(context), { isAll: all, isUnlimited: unlimited });
    tell(done, json, `${counted(done.deliveries)} understood anew: ${things(done.targets)} will be read.`);
  });
}

/** Removes one delivery, or all before a moment, after a look where one is wanted. */
export function runDiscard(
  id: string | undefined,
  { before, unrecognized = false, ...flags }: ConsentFlags & { before?: Date; unrecognized?: boolean },
): Promise<void> {
  return inInbox(async ({ database: { db } }) => {
    const moment = before ?? new Date(0);
    const isMeant = await consents(flags, async () => {
      const deliveries = id === undefined ? await countBefore(db, moment, unrecognized) : Number(await isKept(db, id));
      if (id !== undefined && deliveries === 0) throw noSuch(id);
      return { sentence: `${counted(deliveries)} would be discarded.`, facts: { deliveries } };
    });
    if (!isMeant) return;
    const deliveries =
      id === undefined ? await discardBefore(db, moment, unrecognized) : Number(await discardDelivery(db, id));
    if (id !== undefined && deliveries === 0) throw noSuch(id);
    console.log(flags.json ? JSON.stringify({ deliveries, isDone: true }) : `${counted(deliveries)} discarded.`);
  });
}

async function isKept(db: Database, id: string): Promise<boolean> {
  return (await findDelivery(db, id)) !== undefined;
}

async function inInbox(work: (context: Context) => Promise<void>): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'events', maxConnections: 2 });
  await work(context);
  await context.ringer.idle();
}

function deskOf({ database, pauses, ringer }: Context): Desk {
  return { db: database.db, pauses, onRings: ringer.ring };
}

function tell(done: Reworked, json: boolean | undefined, sentence: string): void {
  console.log(json ? JSON.stringify({ deliveries: done.deliveries, targets: done.targets }) : sentence);
}

function counted(deliveries: number): string {
  return deliveries === 1 ? '1 delivery' : `${deliveries} deliveries`;
}

function things(targets: number): string {
  return targets === 1 ? '1 thing' : `${targets} things`;
}

function noSuch(id: string): CommandFailed {
  return new CommandFailed(`There is no delivery ${maskNumbers(id)}: \`events list\` shows those that are kept.`);
}
