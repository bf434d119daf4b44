import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type OperationId, operationOf } from '../operations.ts';
import type { Reply } from './reply.ts';

interface Described {
  operationId?: string;
  security?: unknown[];
  responses: Record<string, { description: string; content?: Record<string, { schema: unknown }> }>;
}

/** The OpenAPI document as far as answers are held against it. */
export interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, unknown> };
}

export interface ResponseCheck {
  /** What is wrong with an answer, or undefined. */
  faultOf(id: OperationId, reply: Reply): string | undefined;
}

export async function fetchDocument(baseUrl: string): Promise<OpenApi> {
  const response = await fetch(`${baseUrl}/openapi.json`);
  if (!response.ok) throw new Error(`GET /openapi.json answered ${response.status}`);
  return (await response.json()) as OpenApi;
}

/** Holds answers against the response schemas of the document: of the status that came, and of no other. */
export function createResponseCheck(document: OpenApi): ResponseCheck {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'openapi');
  const compiled = new Map<string, ValidateFunction>();

  function validator(pointer: string): ValidateFunction {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
    compiled.set(pointer, known);
    return known;
  }

  return {
    faultOf(id, { status, text = '' }) {
      const { method, path } = operationOf(id);
      const full = `/api/public/v1${path}`;
      const described = document.paths[full]?.[method.toLowerCase()];
      if (described === undefined) return `${method} ${path} is not in the document`;
      const response = described.responses[status];
      if (response === undefined) return `${id} does not document the status ${status}`;
      if (response.content?.['application/json'] === undefined)
        return text === '' ? undefined : `${id} answered a body`;
      const steps = [
        'paths',
        full,
        method.toLowerCase(),
        'responses',
        String(status),
        'content',
        'application/json',
        'schema',
      ];
      const validate = validator(`/${steps.map(step).join('/')}`);
      if (validate(JSON.parse(text))) return undefined;
      return `${id} ${status}: ${ajv.errorsText(validate.errors, { dataVar: 'body' })}`;
    },
  };
}

/** One step of a JSON pointer, within a URI fragment. */
function step(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
