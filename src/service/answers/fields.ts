import { jsonType, type Reading, shownKey, UnreadableData } from './reading.ts';
import type { Field } from './values.ts';

/** The typed keys of an entity, each with the way to read it. */
export type Shape = Readonly<Record<string, Field<unknown>>>;

type ValueOf<F> = F extends Field<infer T> ? T : never;

/**
 * An entity as read: what identifies it is there, every other field is `undefined` when it was not reported. `raw` is
 * the object as parsed, secrets included: redact it before it is stored, never log it. It is not enumerable, so that
 * neither `JSON.stringify` nor a copy of the entity carries it along.
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

/**
 * A reader of one kind of object. It fails only for what is no object or lacks its identity; every other surprise costs
 * one field and is noted. Keys of an object that the specification leaves open (`isOpen`) are collected without a note.
 * What the specification `always` gives and this object does not is kept as lacking.
 */
export function fields<const S extends Shape, const Id extends keyof S & string = never>(
  shape: S,
  options: { identity?: readonly Id[]; always?: readonly (keyof S & string)[]; isOpen?: boolean } = {},
): Field<Entity<S, Id>> {
  const readers = new Map<string, Field<unknown>>(Object.entries(shape));
  const { identity = [], always = [] } = options;
  // Copied for every row, so that all rows share one layout, whatever keys came and in whatever order.
  const blank = {
    ...Object.fromEntries(Object.keys(shape).map((key) => [key, undefined])),
    unknownKeys: none,
  };

  return (value, reading, parent, key) => {
    const path = key === '' ? parent : parent === '' ? key : `${parent}.${key}`;
    if (!isObject(value)) {
      reading.note('wrong_type', path, '', jsonType(value));
      return undefined;
    }
    const entity: Record<string, unknown> = { ...blank };
    let unknownKeys: string[] | undefined;
    for (const name in value) {
      const field = readers.get(name);
      const held = value[name];
      if (field !== undefined && held !== null) entity[name] = field(held, reading, path, name);
      else if (field !== undefined) reading.note('null', path, name, 'null');
      else {
        unknownKeys ??= [];
        unknownKeys.push(name);
        if (!options.isOpen) reading.note('unknown_key', path, shownKey(name), jsonType(held));
      }
    }
    for (const name of identity) {
      if (entity[name] !== undefined) continue;
      reading.note('missing_key', path, name, jsonType(value[name]));
      return undefined;
    }
    for (const name of always) if (entity[name] === undefined) reading.lack(path, name);
    Object.defineProperty(entity, 'raw', { value });
    entity.unknownKeys = unknownKeys ?? none;
    return entity as Entity<S, Id>;
  };
}

/** A copy of an entity with other values in some fields, which keeps the raw object: a plain copy would lose it. */
export function withFields<E extends { readonly raw: unknown }, C extends object>(entity: E, changes: C): E & C {
  return Object.defineProperty({ ...entity, ...changes }, 'raw', { value: entity.raw });
}

function readKey(
  object: Record<string, unknown>,
  key: string,
  field: Field<unknown>,
  reading: Reading,
  path: string,
): unknown {
  // `Object.hasOwn` keeps an object's inherited names, such as `constructor`, from posing as data.
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (value === undefined) return undefined;
  if (value !== null) return field(value, reading, path, key);
  reading.note('null', path, key, 'null');
  return undefined;
}

/** A list of entities inside an entity: what cannot be identified is left out and counted. */
export function rows<T>(entity: Field<T>): Field<readonly T[]> {
  return (value, reading, parent, key) => {
    if (Array.isArray(value))
      return readRows(value, entity, reading, parent === '' ? `${key}[]` : `${parent}.${key}[]`);
    reading.note('wrong_type', parent, key, jsonType(value));
    return undefined;
  };
}

/**
 * The rows of an answer that is nothing without its list; throws `UnreadableData` when it is no list. `null` is how some
 * write an empty one: it is read so, and proves no absence.
 */
export function requiredRows<T>(value: unknown, entity: Field<T>, reading: Reading, where: string): readonly T[] {
  if (Array.isArray(value)) return readRows(value, entity, reading, `${where}[]`);
  if (value === null) {
    reading.note('null', '', where, 'null');
    reading.omit();
    return [];
  }
  throw new UnreadableData(`\`${where}\` should be an array, and ${jsonType(value)} came`);
}

/** The one entity of an answer; throws `UnreadableData` when it is no object or lacks its identity. */
export function requiredEntity<T>(value: unknown, entity: Field<T>, reading: Reading, where: string): T {
  const read = entity(value, reading, where, '');
  if (read !== undefined) return read;
  throw new UnreadableData(`\`${where}\` should be one object with its id, and ${jsonType(value)} came`);
}

/** The object around rows; throws `UnreadableData` for anything else. */
export function requiredObject(value: unknown, where: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new UnreadableData(`\`${where}\` should be an object, and ${jsonType(value)} came`);
}

/** Reads one optional key of an object that is not itself an entity. */
export function optional<T>(
  object: Record<string, unknown>,
  key: string,
  field: Field<T>,
  reading: Reading,
): T | undefined {
  return readKey(object, key, field, reading, '') as T | undefined;
}

function readRows<T>(values: readonly unknown[], entity: Field<T>, reading: Reading, path: string): readonly T[] {
  const read: T[] = [];
  for (const value of values) {
    const row = entity(value, reading, path, '');
    if (row === undefined) reading.omit();
    else read.push(row);
  }
  return read;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
