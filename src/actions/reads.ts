import * as z from 'zod';
import { reparseDeliveries, replayDelivery, replaySince } from '../inbox/stored-deliveries.ts';
import { maskedTarget, type TargetKind, targetKinds } from '../inbox/targets.ts';
import { isCallId } from '../shared/call-id.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { readAgain } from '../sync/read-again.ts';
import { type DirectoryKind, wholeList } from '../warehouse/directory.ts';
import { typedThreadKey } from '../warehouse/phone-numbers.ts';
import { action } from './action.ts';

/* What is read again through the API. */

/** The key of a target as typed. Throws `WrongUse`. */
export function keyOf(kind: TargetKind, given: string | undefined): string {
  switch (kind) {
    case 'thread': {
      const form = 'write line/number, and line/number,number for a group, with country codes';
      if (!given) throw new WrongUse(`Name the thread: ${form}.`);
      const key = typedThreadKey(given);
      if (key === undefined) throw new WrongUse(`"${given}" isn’t a thread: ${form}.`);
      return key;
    }
    case 'call':
    case 'recordings':
    case 'transcripts':
      if (given !== undefined && isCallId(given)) return given;
      if (!given)
        throw new WrongUse(`Name the call: ${toType(`resync ${kind} 1783385492.057900`)}, with the id of the call.`);
      throw new WrongUse(`"${given}" isn’t the id of a call, such as 1783385492.057900.`);
    default:
      kind satisfies DirectoryKind;
      if (given === undefined || given === wholeList) return wholeList;
      throw new WrongUse(`"${given}" isn’t needed: ${toType(`resync ${kind}`)} reads all ${kind} together.`);
  }
}

export const readActions = [
  action({
    name: 'events replay',
    help: 'Reads again, through the API, what deliveries pointed at.',
    words: '[id]',
    needs: 'queues',
    args: z
      .object({
        id: z
          .string()
          .regex(/^[1-9]\d{0,17}$/, 'The id of a delivery is a whole number.')
          .optional(),
        since: z.coerce
          .date('Write a time like 2026-11-01T08:00:00Z.')
          .min(new Date(0), 'Write a time after 1970.')
          .optional()
          .describe('all since then'),
      })
      .refine(
        ({ id, since }) => (id === undefined) !== (since === undefined),
        'Name a delivery, or a time by --since.',
      ),
    async run(deps, { id = '', since }) {
      const done = since ? await replaySince(deps, since) : await replayDelivery(deps, id);
      if (!done)
        throw new UserError(`There is no delivery ${id}: ${toType('list deliveries')} shows those that are kept.`);
      return { ...done };
    },
    done: 'A worker reads again what they point at.',
    page: () => '/deliveries',
  }),
  action({
    name: 'events reparse',
    help: 'Parses again the bodies in which no reference was found, as each worker does when it starts.',
    needs: 'queues',
    args: z.object({}),
    run: async (deps) => ({ ...(await reparseDeliveries(deps)) }),
    done: 'What they point at will be read.',
    page: () => '/deliveries',
  }),
  action({
    name: 'resync',
    help: 'Reads one thing again, whether or not a delivery announced it.',
    words: '<kind> [key]',
    needs: 'queues',
    args: z.object({
      kind: z.enum(targetKinds, `The kind is one of ${targetKinds.join(', ')}.`),
      key: z.string().optional(),
    }),
    async run(deps, { kind, key }) {
      const target = { kind, key: keyOf(kind, key) };
      if (await readAgain(deps, target)) return;
      throw new UserError(`${maskedTarget(target)} isn’t read, because one of its participants was erased.`);
    },
    done: 'A worker reads it within seconds.',
    page: () => '/targets',
  }),
];
