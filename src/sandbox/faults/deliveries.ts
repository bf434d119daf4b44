import { z } from 'zod';
import { eventTypes } from '../account.ts';
import { lotFields, milliseconds } from './lots.ts';

const common = { types: z.array(z.enum(eventTypes)).min(1).optional(), ...lotFields };
const weekMs = 7 * 86_400_000;

/** What can go wrong with a delivery, by its kind. A new kind is a line here and one place in `webhooks/`. */
export const deliveryFault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('dropped'), ...common }).describe('It never leaves.'),
  z
    .strictObject({ kind: z.literal('delayed'), ...common, ms: milliseconds.default(5_000) })
    .describe('It leaves late.'),
  z.strictObject({ kind: z.literal('heldBack'), ...common }).describe('Those of the next second overtake it.'),
  z
    .strictObject({ kind: z.literal('repeated'), ...common, copies: z.int().min(2).max(1000).default(100) })
    .describe('It leaves so many times at once.'),
  z
    .strictObject({ kind: z.literal('redelivered'), ...common, afterMs: milliseconds.default(weekMs) })
    .describe('It leaves once more, by default a week later; until then it counts as pending.'),
  z
    .strictObject({ kind: z.literal('early'), ...common, ms: milliseconds.default(1_000) })
    .describe('It leaves so long before the API shows its text or call. Receipts of that time are lost.'),

  z.strictObject({ kind: z.literal('unquotedCallIds'), ...common }).describe('Call ids are bare numbers.'),
  z.strictObject({ kind: z.literal('form'), ...common }).describe('A form instead of JSON.'),
  z
    .strictObject({ kind: z.literal('wrapped'), ...common, as: z.enum(['nested', 'array', 'stringified']) })
    .describe('The event inside `{ data: { object } }`, an array, or a string within JSON.'),
  z.strictObject({ kind: z.literal('unknownType'), ...common }).describe('`webhookType` is none of the listed ones.'),
  z
    .strictObject({ kind: z.literal('contradictingType'), ...common })
    .describe('`webhookType` is that of another event.'),
  z.strictObject({ kind: z.literal('malformed'), ...common }).describe('Broken JSON.'),
  z.strictObject({ kind: z.literal('truncated'), ...common }).describe('Half of the body.'),
  z.strictObject({ kind: z.literal('empty'), ...common }).describe('No body.'),
  z
    .strictObject({
      kind: z.literal('oversized'),
      ...common,
      bytes: z
        .int()
        .min(1)
        .max(64 * 1024 ** 2)
        .default(1024 ** 2 + 1),
    })
    .describe('Spaces fill the body up to so many bytes.'),

  z
    .strictObject({ kind: z.literal('trickled'), ...common, everyMs: milliseconds.default(200) })
    .describe('A slow loris.'),
  z.strictObject({ kind: z.literal('put'), ...common }).describe('PUT instead of POST.'),
  z.strictObject({ kind: z.literal('get'), ...common }).describe('GET with the event in the query.'),
  z
    .strictObject({ kind: z.literal('suffixed'), ...common })
    .describe("The trigger's name behind the address: `…/Account-SMS`."),
]);

export type DeliveryFault = z.output<typeof deliveryFault>;
