/** The endpoints of 5.3 that answer in JSON. */
export type Step = 'discovery' | 'registration' | 'token';

/** The answer cannot be used; the message says why and quotes nothing. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

type Fields = Record<string, unknown>;

interface Expected {
  /** The base address, which stands for an issuer that is not named. */
  issuer: string;
  /** Whether addresses without TLS will do, as they must where the base address has none. */
  isPlain: boolean;
}

/**
 * Reads the body of a successful answer, and gives it the form that OAuth libraries insist on where the specification is
 * content with less: the envelope of `data` or none, discovery without `issuer`, tokens without `token_type`. Throws
 * `UnusableAnswer`.
 */
export function readStep(step: Step, body: string, expected: Expected): Fields {
  const fields = unwrap(parse(body));
  switch (step) {
    case 'discovery':
      return discovery(fields, expected);
    case 'registration':
      return registration(fields);
    case 'token':
      return tokens(fields);
  }
}

function discovery(fields: Fields, { issuer, isPlain }: Expected): Fields {
  for (const key of ['authorization_endpoint', 'token_endpoint']) requireAddress(fields, key, isPlain);
  if (fields.registration_endpoint !== undefined) requireAddress(fields, 'registration_endpoint', isPlain);
  return { ...fields, issuer: typeof fields.issuer === 'string' ? fields.issuer : issuer };
}

function requireAddress(fields: Fields, key: string, isPlain: boolean): void {
  const address = fields[key];
  if (typeof address !== 'string' || !URL.canParse(address)) throw new UnusableAnswer(`${key} is not an address`);
  const { protocol } = new URL(address);
  if (protocol !== 'https:' && !(isPlain && protocol === 'http:')) throw new UnusableAnswer(`${key} is not HTTPS`);
}

/** A public client has no secret, so one that is given is not kept. */
function registration({ client_secret: _, client_secret_expires_at: __, ...fields }: Fields): Fields {
  const id = fields.client_id;
  if ((typeof id !== 'string' || id === '') && typeof id !== 'number') throw new UnusableAnswer('client_id is missing');
  return { ...fields, client_id: String(id) };
}

/** Nobody asked for an identity, so an `id_token` is not looked at. */
function tokens({ id_token: _, ...fields }: Fields): Fields {
  if (typeof fields.access_token !== 'string' || fields.access_token === '') {
    throw new UnusableAnswer('access_token is missing');
  }
  if (!/^[\x21-\x7e]+$/.test(fields.access_token)) throw new UnusableAnswer('access_token does not fit a header');
  const { token_type: type = 'Bearer', expires_in: seconds, refresh_token: refresh, scope } = fields;
  if (String(type).toLowerCase() !== 'bearer') throw new UnusableAnswer('token_type is not Bearer');
  return {
    access_token: fields.access_token,
    token_type: type,
    ...(Number(seconds) > 0 && { expires_in: Number(seconds) }),
    ...(typeof refresh === 'string' && refresh !== '' && { refresh_token: refresh }),
    ...(typeof scope === 'string' && { scope }),
  };
}

function unwrap(fields: Fields): Fields {
  return isFields(fields.data) ? fields.data : fields;
}

function parse(body: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser's own error quotes the body, which may hold a token.
    throw new UnusableAnswer(`${body.trimStart().startsWith('<') ? 'a page of HTML' : 'no JSON'} came`);
  }
  if (!isFields(value)) throw new UnusableAnswer('JSON came, but no object');
  return value;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
