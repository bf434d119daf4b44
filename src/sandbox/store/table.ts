/** A journal entry: an entity was written or deleted. */
export type Change = { kind: string; key: string | number } & ({ put: object } | { gone: true });

export type RecordChange = (change: Change) => void;

/** Entities of one kind by key. `put` and `delete` are recorded in the journal; `load`, `unload` and `clear` aren't. */
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
  /** The highest key so far, deleted ones included, so that ids are never reused. */
  highestKey(): number;
}

/** Callbacks that keep an additional index of a table. */
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

/** The first index of a sorted list whose item isn't before the wanted position. */
export function lowerBound<Item>(sorted: readonly Item[], isBefore: (item: Item) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(sorted[middle] as Item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
