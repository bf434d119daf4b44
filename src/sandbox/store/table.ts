/** One entity written or removed; the journal is a list of these. */
export type Change = { kind: string; key: string | number } & ({ put: object } | { gone: true });

export type RecordChange = (change: Change) => void;

/** Entities of one kind by their key. `put` and `delete` are recorded; `load`, `unload` and `clear` are not. */
export interface Table<Key extends string | number, Entity extends object> {
  readonly kind: string;
  size(): number;
  get(key: Key): Entity | undefined;
  values(): Entity[];
  put(entity: Entity): Entity;
  delete(key: Key): boolean;
  load(entity: Entity): void;
  unload(key: Key): void;
  clear(): void;
  /** The highest number that ever was a key here: ids are not given twice, not even after a delete. */
  highestKey(): number;
}

/** What an entity family keeps beside the table: told of each change, and of what stood there before. */
export interface Index<Entity> {
  added?(entity: Entity, before: Entity | undefined): void;
  removed?(entity: Entity): void;
  cleared?(): void;
}

export function createTable<Key extends string | number, Entity extends object>(
  kind: string,
  keyOf: (entity: Entity) => Key,
  record: RecordChange,
  index: Index<Entity> = {},
): Table<Key, Entity> {
  const rows = new Map<Key, Entity>();
  let highestKey = 0;

  function load(entity: Entity): void {
    const key = keyOf(entity);
    const before = rows.get(key);
    rows.set(key, entity);
    if (typeof key === 'number' && key > highestKey) highestKey = key;
    index.added?.(entity, before);
  }

  function unload(key: Key): void {
    if (typeof key === 'number' && key > highestKey) highestKey = key;
    const before = rows.get(key);
    if (before === undefined) return;
    rows.delete(key);
    index.removed?.(before);
  }

  return {
    kind,
    size: () => rows.size,
    get: (key) => rows.get(key),
    values: () => [...rows.values()],
    load,
    unload,
    highestKey: () => highestKey,
    put(entity) {
      load(entity);
      record({ kind, key: keyOf(entity), put: entity });
      return entity;
    },
    delete(key) {
      if (!rows.has(key)) return false;
      unload(key);
      record({ kind, key, gone: true });
      return true;
    },
    clear() {
      rows.clear();
      highestKey = 0;
      index.cleared?.();
    },
  };
}
