import type { BulkJobOptions } from 'bullmq';

/** What a job carries: the target that is worth a look. Never data, so that the first bell says as much as the last. */
export interface Bell {
  readonly kind: string;
  readonly key: string;
}

export interface BellJob {
  readonly name: string;
  readonly data: Bell;
  readonly opts: BulkJobOptions;
}

/** The jobs for some bells: one per target, and in the same order from every caller, so that two never deadlock. */
export function jobsOf(bells: readonly Bell[]): readonly BellJob[] {
  const byTarget = new Map<string, Bell>();
  for (const bell of bells) {
    const data = { kind: storable(bell.kind), key: storable(bell.key) };
    byTarget.set(targetId(data), data);
  }
  return [...byTarget]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, data]) => ({ name: data.kind, data, opts: { deduplication: { id, keepLastIfActive: true } } }));
}

/** ASCII without the colon, which both stores use in names of their own. */
function targetId({ kind, key }: Bell): string {
  return `${encodeURIComponent(kind)}/${encodeURIComponent(key)}`;
}

/** One job that jsonb refuses would poison its whole batch; this is what a text column keeps of such a string too. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
