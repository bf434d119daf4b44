import { z } from 'zod';
import type { Context } from '../../context.ts';
import { usableLines } from '../../http/access.ts';
import type { Api } from '../../http/api.ts';
import { dataOf } from '../../http/fields.ts';
import { tag } from '../../http/openapi.ts';
import { lineResource } from '../../resources/lines.ts';

/** GET /sms/lines (4.1). */
export function lineRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.get(
    '/sms/lines',
    {
      config: { scope: 'sms:read' },
      schema: {
        operationId: 'listLines',
        summary: 'Numbers that can text',
        tags: tag('4.1'),
        response: { 200: dataOf(z.array(lineResource)) },
      },
    },
    (request) => ({ data: usableLines(store, request) }),
  );
}
