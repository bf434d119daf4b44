import { createService, type Service, ServiceError } from '../../../src/api-client/client.ts';
import { createLog } from '../../../src/shared/log.ts';
import type { Request } from '../operation.ts';
import { type OperationId, operationOf } from '../operations.ts';
import type { Reply } from './reply.ts';

/** Clients of one base address, one for each credential. */
export interface Clients {
  ask(id: OperationId, request: Request, credential: string): Promise<Reply>;
  close(): Promise<void>;
}

/** One request a call, whatever came before: a case is about one answer. */
const patience = { retry: { tries: 1 }, circuit: { failures: 1_000_000, maxOpenMs: 0 } };

export function createClients(baseUrl: string): Clients {
  const log = createLog('silent');
  const services = new Map<string, Service>();

  function serviceFor(credential: string): Service {
    const known = services.get(credential);
    if (known !== undefined) return known;
    const made = createService({ baseUrl, apiKey: credential, log, ...patience });
    services.set(credential, made);
    return made;
  }

  return {
    async ask(id, { path = {}, query = {}, body = undefined }, credential) {
      const { call } = operationOf(id);
      if (call === undefined) throw new Error(`the client has no method for ${id}`);
      try {
        const { status, data } = await call(serviceFor(credential), { path, query, body });
        return { status, ...(data !== undefined && { data: plain(data) }) };
      } catch (error) {
        if (error instanceof ServiceError) return replyOf(error);
        throw error;
      }
    },
    async close() {
      await Promise.all([...services.values()].map((service) => service.close()));
    },
  };
}

/** Words of the client for what has another name in section 7. */
const types: Record<string, string> = { server: 'internal_error' };

function replyOf({ code, status, scope }: ServiceError): Reply {
  const type = types[code] ?? code;
  // What the client refuses itself, the service would refuse with 400.
  if (status === undefined) return { status: code === 'invalid_request' ? 400 : 0, type, isLocal: true };
  return { status, type, ...(scope !== undefined && code === 'insufficient_scope' && { scope }) };
}

/** An entity without what the client adds to it, as the service said it. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const told = Object.entries(value).filter(
    ([key, held]) => held !== undefined && key !== 'raw' && key !== 'unknownKeys',
  );
  return Object.fromEntries(told.map(([key, held]) => [key, plain(held)]));
}
