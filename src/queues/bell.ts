import type { BulkJobOptions } from 'bullmq';

/** The target that is worth a look. */
export interface Bell {
  readonly kind: string;
  readonly key: string;
  /** False: behind all others. Default true. */
  readonly isUrgent?: boolean;
}

/** What a job carries: ids alone, never data, so that the first bell says as much as the last. */
export type BellData = Pick<Bell, 'kind' | 'key'>;

/** Jobs without a priority go before all that have one. */
const behindOthers = 1;

export interface BellJob {
  readonly name: string;
  readonly data: BellData;
  readonly opts: BulkJobOptions;
}

/** The jobs for some bells: one per target, and in the same order from every caller, so that two never deadlock. */
export function jobsOf(bells: readonly Bell[]): readonly BellJob[] {
  const byTarget = new Map<string, Required<Bell>>();
  for (const bell of bells) {
    const data = { kind: storable(bell.kind), key: storable(bell.key) };
    const id = targetId(data);
    byTarget.set(id, { ...data, isUrgent: bell.isUrgent !== false || byTarget.get(id)?.isUrgent === true });
  }
  return [...byTarget]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { kind, key, isUrgent }]) => ({
      name: kind,
      data: { kind, key },
      opts: { deduplication: { id, keepLastIfActive: true }, ...(!isUrgent && { priority: behindOthers }) },
    }));
}

/** ASCII without the colon, which both stores use in names of their own. */
function targetId({ kind, key }: BellData): string {
  return `${encodeURIComponent(kind)}/${encodeURIComponent(key)}`;
}

/** One job that jsonb refuses would poison its whole batch; this is what a text column keeps of such a string too. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
