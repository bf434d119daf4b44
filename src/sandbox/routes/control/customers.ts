import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { dataOf, phoneNumber } from '../../http/fields.ts';

const habit = z.strictObject({
  autoReply: z.string().min(1).nullable().default(null).describe('What the customer answers to each text.'),
  afterMs: z.int().min(0).max(86_400_000).default(1_000).describe('How long the customer takes to answer.'),
  returnsId: z
    .boolean()
    .default(true)
    .describe('False: the gateway returns no message id for sends to the number (2.3).'),
});

/** POST /_sandbox/customers/{number}: sets how another party behaves when a text goes to it; `{}` ends it. */
export function customerRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.post(
    '/customers/:number',
    {
      schema: {
        summary: 'Let a customer answer by itself',
        params: z.object({ number: phoneNumber }),
        body: habit,
        response: { 200: dataOf(habit.extend({ number: z.string() })) },
      },
    },
    ({ params: { number }, body }) => ({ data: store.habits.put({ number, ...body }) }),
  );
}
