type Json = unknown;
type Fields = Record<string, Json>;

/** An operation's part of the document, as far as it is rewritten here. */
interface Described {
  parameters?: { schema: Fields }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Fields }> };
  security?: unknown[];
  responses: Record<string, { description: string; content?: Record<string, { schema: Fields }> }>;
}

interface Document {
  paths?: Record<string, unknown> | undefined;
  components?: { schemas?: Record<string, unknown> } | undefined;
}

/** What each status says, in the words of section 7. */
const meanings: Record<string, string> = {
  200: 'Done.',
  201: 'Made.',
  204: 'Done; the body is empty.',
  400: 'Refused: a field is missing, malformed or unknown, or a limit is broken.',
  401: 'No credential, or one that is invalid, revoked or expired; `WWW-Authenticate` names the scope.',
  403: 'The credential lacks the scope (`insufficient_scope`) or may not do this (`permission_denied`).',
  404: 'There is no such thing, or it is not of this account.',
  422: 'No rate applies to a destination; nothing was sent.',
  500: 'The service failed.',
};

/** A send says in its own words what it did (section 7). */
const sendMeanings: Record<string, string> = {
  200: 'Every recipient was skipped; nothing was charged.',
  201: 'Sent and charged.',
};

/**
 * Makes the generated document one for people and for code generators: each entity once, answers open to further keys
 * (section 9), every status with a sentence, and the errors of section 7 with their statuses instead of ranges.
 */
export function refine<Given extends Document>(given: Given): Given {
  const document = structuredClone(given);
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const operation of Object.values(methods as Record<string, Described>)) refineOperation(operation, path);
  }
  const schemas = { ...document.components?.schemas };
  for (const [name, schema] of Object.entries(schemas)) if (!name.endsWith('Input')) open(schema);
  document.components = { ...document.components, schemas };
  keepReferred(document, schemas);
  walk(document, (node) => {
    if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  });
  return document;
}

function refineOperation(operation: Described, path: string): void {
  for (const parameter of operation.parameters ?? []) parameter.schema = asWritten(parameter.schema);
  const isBodyNeeded = bodySchemas(operation).some(({ required }) => Array.isArray(required) && required.length > 0);
  if (operation.requestBody !== undefined) operation.requestBody.required = isBodyNeeded;
  if (operation.security !== undefined) nameErrors(operation, path);
  else operation.responses = withoutGuesses(operation.responses);
  for (const [status, response] of Object.entries(operation.responses)) {
    const meaning = (isSend(path) ? sendMeanings[status] : undefined) ?? meanings[status] ?? meanings[200] ?? '';
    if (response.description === 'Default Response') response.description = meaning;
    if (status === '204') delete response.content;
    asPage(response);
    open(response);
  }
}

/** All endpoints can answer 401, 403 and 500 (section 4); the others follow from what a request holds. */
function nameErrors(operation: Described, path: string): void {
  const { '4XX': error, '5XX': _failure, ...answers } = operation.responses;
  if (error === undefined) return;
  const takesInput = operation.requestBody !== undefined || (operation.parameters ?? []).length > 0;
  const statuses = [
    ...(takesInput ? ['400'] : []),
    '401',
    '403',
    ...(mayBeMissing(path) ? ['404'] : []),
    ...(isSend(path) ? ['422'] : []),
    '500',
  ];
  const errors = statuses.map((status) => [status, { ...error, description: meanings[status] ?? '' }] as const);
  operation.responses = { ...answers, ...Object.fromEntries(errors) };
}

/** What is described as HTML is no JSON. */
function asPage(response: Described['responses'][string]): void {
  const answer = response.content?.['application/json'];
  if (answer?.schema.description === 'HTML') response.content = { 'text/html': answer };
}

/** A route that describes no answer succeeds in some way. */
function withoutGuesses({ 200: guess, ...responses }: Described['responses']): Described['responses'] {
  if (guess === undefined) return responses;
  return { ...responses, [guess.content === undefined ? '2XX' : '200']: guess };
}

/** Whatever has an id or a block can be missing; a conversation is a pair, and a draft's key is the client's. */
function mayBeMissing(path: string): boolean {
  return /\{(id|callid)\}|\/blocked\/\{number\}/.test(path);
}

function isSend(path: string): boolean {
  return path.endsWith('/sms/messages');
}

/** A query holds text only, so its schema does too; whoever writes it thinks of integers and booleans. */
function asWritten(schema: Fields): Fields {
  const { description, default: usual } = schema;
  const notes = { ...(description !== undefined && { description }) };
  if (schema.pattern === '^\\d{1,15}$') return { type: 'integer', minimum: 0, ...notes };
  if (!Array.isArray(schema.enum) || schema.enum.some((word) => word !== 'true' && word !== 'false')) return schema;
  return { type: 'boolean', ...notes, ...(usual !== undefined && { default: usual === 'true' }) };
}

function bodySchemas({ requestBody }: Described): Fields[] {
  return Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
}

/** Shapes of answers are forward compatible (section 9): clients are to ignore keys that they do not know. */
function open(schema: unknown): void {
  walk(schema, (node) => {
    if (node.additionalProperties === false) delete node.additionalProperties;
  });
}

/** Leaves out what nothing refers to, and calls what only requests hold by its plain name. */
function keepReferred(document: Document, schemas: Record<string, unknown>): void {
  for (let hasChanged = true; hasChanged; ) {
    const referred = new Set<string>();
    walk(document, ({ $ref }) => typeof $ref === 'string' && referred.add($ref.slice(prefix.length)));
    const unused = Object.keys(schemas).filter((name) => !referred.has(name));
    for (const name of unused) delete schemas[name];
    hasChanged = unused.length > 0;
  }
  for (const name of Object.keys(schemas)) {
    const plain = name.replace(/Input$/, '');
    if (plain === name || schemas[plain] !== undefined) continue;
    schemas[plain] = schemas[name];
    delete schemas[name];
    walk(document, (node) => {
      if (node.$ref === prefix + name) node.$ref = prefix + plain;
    });
  }
}

const prefix = '#/components/schemas/';

function walk(value: unknown, visit: (node: Fields) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Fields);
  for (const inner of Object.values(value)) walk(inner, visit);
}
