/** A base address, split where undici wants it split. */
export interface Base {
  origin: string;
  /** The base's own path without a trailing slash, and the prefix of the API (section 9). */
  prefix: string;
}

/** Throws when the address cannot be the base of a service. */
export function parseBase(baseUrl: string): Base {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isBase = url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
  if (!isBase) {
    throw new TypeError(
      'The base address should look like https://host or https://host/path, without user, query or #.',
    );
  }
  return { origin: url.origin, prefix: `${url.pathname.replace(/\/+$/, '')}/api/public/v1` };
}

/** A path below the prefix with its parameters encoded. Its text is made by `path` alone. */
export interface Path {
  readonly text: string;
  /** Why it must not be requested: an empty or dotted parameter would lead to another endpoint. */
  readonly fault?: string;
}

export function path(literals: TemplateStringsArray, ...parameters: readonly (string | number)[]): Path {
  let text = literals[0] ?? '';
  let fault: string | undefined;
  for (const [i, parameter] of parameters.entries()) {
    const segment = String(parameter);
    if (segment === '') fault = 'a part of the path is empty';
    if (segment === '.' || segment === '..') fault = 'a part of the path is only dots';
    text += encode(segment) + (literals[i + 1] ?? '');
  }
  return fault === undefined ? { text } : { text, fault };
}

/** One path below another. */
export function below(upper: Path, lower: Path): Path {
  const fault = upper.fault ?? lower.fault;
  return { text: upper.text + lower.text, ...(fault !== undefined && { fault }) };
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The request target of a path without fault. */
export function target(base: Base, path: Path, query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(key, String(value));
  return `${base.prefix}${path.text}${search.size === 0 ? '' : `?${search}`}`;
}

function encode(segment: string): string {
  // A lone surrogate cannot be encoded, and no id of the service has one.
  return encodeURIComponent(segment.toWellFormed());
}
