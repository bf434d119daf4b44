/* How pages name the columns of results, and show their values. */

/** What the end of a column's name says of its values. */
const units = { pct: '%', seconds: 's', minutes: 'min', hours: 'h', usd: '$' } as const;
export type Unit = (typeof units)[keyof typeof units] | '';

/** `answered_pct` is `answered`, in percent. */
export function unitOf(column: string): { name: string; unit: Unit } {
  const [, name, suffix] = /^(.+)_(pct|seconds|minutes|hours|usd)$/.exec(column) ?? [];
  return name === undefined ? { name: column, unit: '' } : { name, unit: units[suffix as keyof typeof units] };
}

/** Columns of many views whose names aren't those of people. */
const headings: Readonly<Record<string, string>> = {
  ...{ local_date: 'Day', from_date: 'From', started_at: 'Time', call_started_at: 'Time', sent_at: 'Time' },
  ...{ external_number: 'Number', caller_name: 'Name', account_number: 'Our number' },
  ...{ user: 'Agent', user_name: 'Agent' },
};

/** `half_within_minutes` as `Half within`, `answered_pct` as `Answered %`, `first_reply_at` as `First reply`. */
export function headingOf(column: string): string {
  const { name, unit } = unitOf(column);
  const words = name.replace(/^(?:is|local)_|_(?:at|name|count)$/g, '').replaceAll('_', ' ');
  const heading = headings[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
  return unit === '%' || unit === '$' ? `${heading} ${unit}` : heading;
}

/** A number with its unit, durations in their two largest units: `2 min 5 s`; a dash for null. */
export function formatValue(value: number | null, unit: Unit): string {
  if (value === null) return '–';
  if (unit === '$') return `$${number(value, 2, 2)}`;
  if (unit === '%') return `${number(value)}\u00a0%`;
  const seconds = { s: 1, min: 60, h: 3_600 };
  if (unit === '') return value >= 10_000 && value % 100 === 0 ? `${number(value / 1_000)}k` : number(value);
  return lengthOf(value * seconds[unit]);
}

/** A duration: `34 s`, `2 min 5 s`, `1 h 2 min`, `4 d`. */
export function lengthOf(seconds: number | null): string {
  if (seconds === null) return '–';
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ].flatMap(([count, unit]) => (count === 0 ? [] : `${count}\u00a0${unit}`));
  return parts.slice(0, 2).join(' ') || '0\u00a0s';
}

/** A number as a query wrote it, with up to two of its decimals; a duration in its units. */
export function writtenNumber(text: string, unit: Unit): string {
  if (!['', '$', '%'].includes(unit)) return formatValue(Number(text), unit);
  const digits = unit === '$' ? 2 : Math.min(2, /\.(\d+)$/.exec(text)?.[1]?.length ?? 0);
  return number(Number(text), digits, digits);
}

/** By their decimals: making one takes as long as ten uses. */
const formats = new Map<string, Intl.NumberFormat>();

/** A number of a table or a sentence, with at least and at most so many decimals. */
export function number(value: number, least = 0, most = Math.max(least, 1)): string {
  const decimals = `${least} ${most}`;
  const format =
    formats.get(decimals) ?? new Intl.NumberFormat('en', { minimumFractionDigits: least, maximumFractionDigits: most });
  formats.set(decimals, format);
  return format.format(value);
}

type Words = Readonly<Record<string, string>>;
const optOut: Words = {
  opt_out: 'opted out',
  unsure: 'may have opted out',
  opt_in: 'opted in',
  clear: 'not opted out',
};

/** The words for codes in columns, by the name of the column. */
export const codes: Readonly<Record<string, Words> & Record<'outcome' | 'evidence' | 'status', Words>> = {
  outcome: {
    answered: 'answered',
    voicemail: 'ended in a mailbox',
    short_abandoned: 'given up at once',
    abandoned: 'given up by the caller',
    missed: 'not answered',
    unknown: 'outcome not reported',
  },
  evidence: {
    inbound_word: 'by a text of theirs',
    service_skip: 'as the service said when it skipped a text',
    person: 'as a person decided',
  },
  returned_by: {
    called_back: 'called back, as the service reports',
    outbound_call: 'called back',
    caller_got_through: 'the caller called again and got through',
    text: 'a user texted the caller',
    automatic_text: 'a rule texted the caller, which is no return',
    text_by_unknown: 'an unknown sender texted the caller, which is no return',
  },
  ...{ status: optOut, automatic_texts: optOut },
};
