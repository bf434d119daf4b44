import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { BlockedSender } from '../../entities/texting.ts';
import { requireLine } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { notFound } from '../../http/errors.ts';
import { dataOf, linePath, pairPath, phoneNumber } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { rfc3339 } from '../../resources/moments.ts';
import { pairKey } from '../../store/store.ts';

/** Section 2.7. */
const blockedSender = z
  .object({
    line: z.string(),
    number: z.string(),
    reason: z.string().describe('Never shown to the blocked party.'),
    blockedAt: z.string(),
  })
  .meta({ id: 'BlockedSender' });

const blockBody = z.strictObject({ number: phoneNumber, reason: z.string().default('') });

const tags = tag('4.3');

/** Blocked senders of a line (4.3); how a block is removed is not shown. */
export function blockingRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const { blocked } = store;

  api.post(
    '/sms/lines/:line/blocked',
    {
      config: { scope: 'sms:write', permission: 'phoneNumbers' },
      schema: {
        operationId: 'blockSender',
        summary: 'Block a number on a line',
        description: 'A number that is blocked stays so, with its first reason and time.',
        tags,
        params: linePath,
        body: blockBody,
        response: { 201: dataOf(blockedSender) },
      },
    },
    (request, reply) => {
      const pair = { line: request.params.line, number: request.body.number };
      requireLine(store, request, pair.line);
      const block =
        blocked.get(pairKey(pair)) ?? blocked.put({ ...pair, reason: request.body.reason, blockedAt: now().getTime() });
      reply.code(201);
      return { data: blockedResource(block) };
    },
  );

  api.get(
    '/sms/lines/:line/blocked/:number',
    {
      config: { scope: 'sms:read', permission: 'phoneNumbers' },
      schema: {
        operationId: 'getBlockedSender',
        summary: 'Whether a number is blocked on a line',
        tags,
        params: pairPath,
        response: { 200: dataOf(blockedSender) },
      },
    },
    (request) => {
      const { line, number } = request.params;
      requireLine(store, request, line);
      const block = blocked.get(pairKey({ line, number }));
      if (block === undefined) throw notFound(`a block of ${number} on ${line}`);
      return { data: blockedResource(block) };
    },
  );
}

function blockedResource(block: BlockedSender): z.output<typeof blockedSender> {
  return { ...block, blockedAt: rfc3339(block.blockedAt) };
}
