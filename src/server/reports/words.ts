/** What the end of a column's name says of its values. */
const units = { pct: '%', seconds: 's', minutes: 'min', hours: 'h', usd: '$' } as const;
export type Unit = (typeof units)[keyof typeof units] | '';

/** `answered_pct` is `answered`, in percent. */
export function unitOf(column: string): { name: string; unit: Unit } {
  const [, name, suffix] = /^(.+)_(pct|seconds|minutes|hours|usd)$/.exec(column) ?? [];
  return name === undefined ? { name: column, unit: '' } : { name, unit: units[suffix as keyof typeof units] };
}

/** Columns of many views whose names are not those of people. */
const headings: Readonly<Record<string, string>> = {
  ...{ local_date: 'Day', from_date: 'From', started_at: 'Time', call_started_at: 'Time', sent_at: 'Time' },
  ...{
    external_number: 'Number',
    caller_name: 'Name',
    account_number: 'Our number',
    user: 'Agent',
    user_name: 'Agent',
  },
};

/** `half_within_minutes` as `Half within`, `answered_pct` as `Answered %`. */
export function headingOf(column: string): string {
  const { name, unit } = unitOf(column);
  const words = name.replace(/^(?:is|local)_|_(?:at|name|count)$/g, '').replaceAll('_', ' ');
  const heading = headings[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
  return unit === '%' || unit === '$' ? `${heading} ${unit}` : heading;
}

/** A number with its unit; a dash for null. Durations in a suitable unit: `40 s`, `3.5 min`, `2 h`, `4 d`. */
export function formatValue(value: number | null, unit: Unit): string {
  if (value === null) return '–';
  if (unit === '$') return `$${number(value, 2, 2)}`;
  if (unit === '%') return `${number(value)}\u00a0%`;
  const seconds = { s: 1, min: 60, h: 3_600 };
  if (unit === '') return value >= 10_000 && value % 100 === 0 ? `${number(value / 1_000)}k` : number(value);
  return lengthOf(value * seconds[unit]);
}

function lengthOf(seconds: number): string {
  const fine = (value: number) => number(value, 0, value < 10 ? 1 : 0);
  if (seconds < 100 && seconds !== 60) return `${fine(seconds)}\u00a0s`;
  if (seconds < 100 * 60 && seconds !== 3_600) return `${fine(seconds / 60)}\u00a0min`;
  if (seconds < 48 * 3_600) return `${fine(seconds / 3_600)}\u00a0h`;
  return `${fine(seconds / 86_400)}\u00a0d`;
}

/** A number of a table or a sentence, with at least and at most so many decimals. */
export function number(value: number, least = 0, most = Math.max(least, 1)): string {
  return value.toLocaleString('en', { minimumFractionDigits: least, maximumFractionDigits: most });
}
