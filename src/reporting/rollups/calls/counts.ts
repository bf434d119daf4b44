const thresholds = [5, 10, 15, 20, 30, 45, 60, 120] as const;

const counts: Readonly<Record<string, string>> = {
  call_count: 'count(*)',
  ...outcomes(['answered', 'voicemail', 'abandoned', 'short_abandoned', 'missed', 'unknown']),
  talk_seconds: `coalesce(sum(c.talk_seconds) filter (where c.outcome = 'answered'), 0)`,
  talk_count: `count(c.talk_seconds) filter (where c.outcome = 'answered')`,
  duration_seconds: 'coalesce(sum(c.duration_seconds), 0)',
  answer_wait_seconds: 'coalesce(sum(c.answer_wait_seconds), 0)',
  answer_wait_count: 'count(c.answer_wait_seconds)',
  longest_wait_seconds: 'max(c.wait_seconds)',
  ...Object.fromEntries(
    thresholds.map((seconds) => [`ans_le_${seconds}`, `count(*) filter (where c.answer_wait_seconds <= ${seconds})`]),
  ),
  transferred_count: 'count(*) filter (where c.transferred_count > 0)',
  recorded_count: 'count(*) filter (where c.is_recorded)',
  called_back_count: `count(nullif(c.called_back_call_id, ''))`,
  repeated_count: 'count(*) filter (where c.repeated_count > 0)',
};

function outcomes(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`${name}_count`, `count(*) filter (where c.outcome = '${name}')`]));
}

/** The columns that every rollup of calls counts, by `ops.add_call_counts`. */
export const counted = Object.keys(counts);
export const countColumns = counted.join(', ');

/** What fills them, from `reporting.fct_call c`, by their names. */
export const countExpressions = Object.entries(counts)
  .map(([name, expression]) => `${expression} as ${name}`)
  .join(', ');

/** What fills them from a finer rollup. */
export const sumExpressions = counted
  .map((name) => `${name === 'longest_wait_seconds' ? 'max' : 'sum'}(${name}) as ${name}`)
  .join(', ');

/** A word that the specification does not know counts as unknown: it can be longer than an index takes. */
export const knownDirection = `case when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end`;
