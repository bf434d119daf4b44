import type { Request } from '../operation.ts';
import { type OperationId, operationOf } from '../operations.ts';
import type { Reply } from './reply.ts';

/** Where the API lies under the base address (section 9). */
const prefix = '/api/public/v1';

/** Asks over bare HTTP. A body that is text goes as it is; a credential of null sends none. */
export async function askBare(
  baseUrl: string,
  id: OperationId,
  { path = {}, query = {}, body }: Request,
  credential: string | null,
): Promise<Reply> {
  const { method, path: template } = operationOf(id);
  const url = new URL(baseUrl + prefix + template.replaceAll(/\{(\w+)\}/g, (_, name) => segment(path[name])));
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const response = await fetch(url, {
    method,
    headers: {
      ...(credential !== null && { authorization: `Bearer ${credential}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return replyOf(response);
}

async function replyOf(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text();
  const body = text === '' ? {} : JSON.parse(text);
  const { data, error } = body;
  return {
    status,
    headers,
    text,
    ...(data !== undefined && { data }),
    ...(error !== undefined && { type: error.type }),
    ...(error?.scope !== undefined && { scope: error.scope }),
  };
}

function segment(value: string | number | undefined): string {
  return encodeURIComponent(String(value ?? ''));
}
