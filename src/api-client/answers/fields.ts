import type { Read } from './envelope.ts';
import { type Field, isObject, jsonType, loggableKey, pathOf, type Report, UnreadableData } from './values.ts';

/** The keys of an entity, each with its reader. */
type Shape = Readonly<Record<string, Field<unknown>>>;

/** What a reader returns. */
export type ValueOf<F> = F extends Field<infer T> ? T : never;

/**
 * An entity as read. Its identity is always present; any other field is `undefined` when it wasn't reported. `raw` is
 * the parsed object with its secrets: redact it before storing it, and never log it. It isn't enumerable, so
 * `JSON.stringify` and copies leave it out.
 */
export type Entity<S extends Shape, Id extends keyof S = never> = {
  readonly [K in Id]: ValueOf<S[K]>;
} & {
  readonly [K in Exclude<keyof S, Id>]?: ValueOf<S[K]> | undefined;
} & {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly unknownKeys: readonly string[];
};

const none: readonly string[] = Object.freeze([]);

/** Makes a reader for objects that are rejected when they lack the key that identifies them. */
export function entity<const Id extends keyof S & string, const S extends Shape>(
  identity: Id,
  shape: S,
): Field<Entity<S, Id>> {
  return reader(shape, { identity });
}

/** Makes a reader for objects without identity. */
export function fields<const S extends Shape>(shape: S): Field<Entity<S>> {
  return reader(shape, {});
}

/** Makes a reader for objects that the specification leaves open: unknown keys are expected. */
export function openFields<const S extends Shape>(shape: S): Field<Entity<S>> {
  return reader(shape, { isOpen: true });
}

/**
 * Rejects only a value that isn't an object or lacks its identity. Any other difference is reported and loses one
 * field.
 */
function reader<S extends Shape, Id extends keyof S & string>(
  shape: S,
  { identity, isOpen = false }: { identity?: Id; isOpen?: boolean },
): Field<Entity<S, Id>> {
  const readers = new Map<string, Field<unknown>>(Object.entries(shape));
  // Copied for every row, so that V8 gives all rows one layout, whatever the keys of the answer.
  const blank = {
    ...Object.fromEntries(Object.keys(shape).map((key) => [key, undefined])),
    unknownKeys: none,
  };

  return (value, report, parent, key) => {
    const path = pathOf(parent, key);
    if (!isObject(value)) {
      report('wrong_type', path, '', jsonType(value));
      return undefined;
    }
    const entity: Record<string, unknown> = { ...blank };
    let unknownKeys: string[] | undefined;
    for (const name in value) {
      const field = readers.get(name);
      const held = value[name];
      if (field !== undefined && held !== null) entity[name] = field(held, report, path, name);
      else if (field !== undefined) report('null', path, name, 'null');
      else {
        unknownKeys ??= [];
        unknownKeys.push(name);
        if (!isOpen) report('unknown_key', path, loggableKey(name), jsonType(held));
      }
    }
    if (identity !== undefined && entity[identity] === undefined) {
      report('missing_key', path, identity, jsonType(value[identity]));
      return undefined;
    }
    Object.defineProperty(entity, 'raw', { value });
    entity.unknownKeys = unknownKeys ?? none;
    return entity as Entity<S, Id>;
  };
}

/** A copy of an entity with changed fields. Keeps `raw`, which a plain copy would lose. */
export function withFields<E extends { readonly raw: unknown }, C extends object>(entity: E, changes: C): E & C {
  return Object.defineProperty({ ...entity, ...changes }, 'raw', { value: entity.raw });
}

/** A list of entities inside an entity. It's unusable if one of its rows is. */
export function rows<T>(entity: Field<T>): Field<readonly T[]> {
  return (value, report, parent, key) => {
    if (Array.isArray(value)) return readRows(value, entity, report, pathOf(parent, `${key}[]`));
    report('wrong_type', parent, key, jsonType(value));
    return undefined;
  };
}

/**
 * The rows of a list that the answer must have; `null` is read as an empty list. Throws `UnreadableData` for anything
 * else, and if a row lacks its identity.
 */
export function requiredRows<T>(value: unknown, entity: Field<T>, report: Report, where: string): readonly T[] {
  if (value === null) {
    report('null', '', where, 'null');
    return [];
  }
  if (!Array.isArray(value)) {
    throw new UnreadableData(`\`${where}\` should be an array, but is ${jsonType(value)}`);
  }
  const rows = readRows(value, entity, report, `${where}[]`);
  if (rows !== undefined) return rows;
  throw new UnreadableData(`a row of \`${where}\` is no object with its id`);
}

/** Reads data that is a list, by {@link requiredRows}. */
export function listOf<T>(where: string, entity: Field<T>): Read<readonly T[]> {
  return (data, report) => requiredRows(data, entity, report, where);
}

/** Reads data that is one entity. Throws `UnreadableData` if it isn't an object or lacks its identity. */
export function one<T>(where: string, entity: Field<T>): Read<T> {
  return (data, report) => {
    const read = entity(data, report, where, '');
    if (read !== undefined) return read;
    throw new UnreadableData(`\`${where}\` should be one object with its id, but is ${jsonType(data)}`);
  };
}

/** The value as an object; throws `UnreadableData` for anything else. */
export function requiredObject(value: unknown, where: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new UnreadableData(`\`${where}\` should be an object, but is ${jsonType(value)}`);
}

/** Reads one optional key of an object that isn't itself an entity. */
export function optional<T>(
  object: Record<string, unknown>,
  key: string,
  field: Field<T>,
  report: Report,
): T | undefined {
  // Inherited names, such as `constructor`, aren't data.
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (value === null) report('null', '', key, 'null');
  return value === undefined || value === null ? undefined : field(value, report, '', key);
}

function readRows<T>(
  values: readonly unknown[],
  entity: Field<T>,
  report: Report,
  path: string,
): readonly T[] | undefined {
  const read: T[] = [];
  for (const value of values) {
    const row = entity(value, report, path, '');
    if (row === undefined) return undefined;
    read.push(row);
  }
  return read;
}
