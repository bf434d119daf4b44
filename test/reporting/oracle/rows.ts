/** A row of a report. A Date stands for an instant, and a number for whatever numeric type the column has. */
export type Row = Readonly<Record<string, string | number | boolean | Date | readonly string[] | null>>;

/** A report, by the oracle: `key` tells its rows apart. */
export interface Report {
  readonly view: string;
  /** What is read in its place, where the view lacks a column of the key. */
  readonly from?: string;
  readonly key: readonly string[];
  readonly rows: readonly Row[];
  /** Columns that are no figures and are not recomputed; any other that the oracle lacks is a difference. */
  readonly beside?: readonly string[];
  /** Columns that are right to half a unit of their last place: by name, how much that is. */
  readonly rounded?: Readonly<Record<string, number>>;
  /** Which rows of the view are compared. Default: all. */
  readonly where?: string;
}

/** What differs between a report and the rows that the view showed, in words. */
export function differences(report: Report, shown: readonly Row[]): string[] {
  const { view, key, rounded = {} } = report;
  const keyOf = (row: Row) => key.map((name) => text(row[name] ?? null)).join(' | ');
  const rows = report.rows.map((row) => withKeys(row, shown[0]));
  const found = columnsThatDiffer(report, rows[0], shown[0]);
  const expected = new Map(rows.map((row) => [keyOf(row), row]));
  if (expected.size !== rows.length) throw new Error(`${view}: the key ${key} does not tell the oracle's rows apart`);
  const actual = new Map<string, Row>();
  for (const row of shown) {
    if (actual.has(keyOf(row))) found.push(`${view} [${keyOf(row)}] stands there twice`);
    actual.set(keyOf(row), row);
  }
  for (const [each, row] of expected) {
    const held = actual.get(each);
    if (!held) found.push(`${view} [${each}] is missing: ${JSON.stringify(row)}`);
    for (const [name, value] of Object.entries(held ? row : {})) {
      const is = held?.[name];
      if (is === undefined || isSame(value, is, rounded[name] ?? 1e-6)) continue;
      found.push(`${view} [${each}] ${name} is ${JSON.stringify(is)}, must be ${JSON.stringify(value)}`);
    }
  }
  for (const [each, row] of actual) {
    if (!expected.has(each)) found.push(`${view} [${each}] must not be there: ${JSON.stringify(row)}`);
  }
  return found;
}

/** The keys by which a report is joined with the dimensions, where the view has them: they follow from its other columns. */
function withKeys(row: Row, shown: Row | undefined): Row {
  const date = row.local_date ?? row.month_start_date;
  const { kind, endpoint } = row;
  const keys: Row = {
    ...(typeof date === 'string' && { date_key: Number(date.replaceAll('-', '')) }),
    ...('line' in row && { line_key: row.line ?? null }),
    ...('account_number' in row && { number_key: row.account_number ?? 'unknown' }),
    ...(('external_number' in row || 'number' in row) && {
      contact_key: row.external_number ?? row.number ?? 'unknown',
    }),
    ...(kind && endpoint && { queue_key: `${kind}:${endpoint}` }),
    user_key: row.user_id ?? row.agent_user_id ?? row.sent_by ?? row.first_user_reply_by ?? null,
  };
  const has = (name: string) => shown !== undefined && name in shown && !(name in row);
  return { ...row, ...Object.fromEntries(Object.entries(keys).filter(([name]) => has(name))) };
}

function columnsThatDiffer({ view, beside = [] }: Report, row: Row | undefined, shown: Row | undefined): string[] {
  if (!row || !shown) return [];
  const [expected, actual] = [Object.keys(row), Object.keys(shown)];
  const lacking = expected.filter((name) => !actual.includes(name));
  const unknown = actual.filter((name) => !expected.includes(name) && !beside.includes(name));
  return [
    ...lacking.map((name) => `${view} has no column ${name}`),
    ...unknown.map((name) => `${view} has a column ${name}, which the oracle does not recompute`),
  ];
}

function isSame(expected: Row[string], actual: unknown, within: number): boolean {
  if (expected === null || actual === null) return expected === actual;
  if (typeof expected === 'number') return Math.abs(expected - Number(actual)) <= within + 1e-9 * Math.abs(expected);
  if (expected instanceof Date) return Number(expected) === Date.parse(String(actual));
  if (Array.isArray(expected)) return JSON.stringify(expected) === JSON.stringify(actual);
  return expected === actual;
}

/** Instants alike, whether the oracle or Postgres wrote them. */
function text(value: Row[string]): string {
  if (value === null) return '-';
  if (value instanceof Date) return value.toISOString();
  const isInstant = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+[+-]/.test(value);
  return isInstant ? new Date(value).toISOString() : String(value);
}

/** A share in percent with two places, half away from zero; null without a denominator. */
export function percent(part: number, whole: number): number | null {
  return quotient(100 * part, whole, 100);
}

/** A quotient of whole numbers to the tenth (10) or hundredth (100), half away from zero. */
export function quotient(part: number, whole: number, places: number): number | null {
  if (whole === 0) return null;
  const scaled = part * places;
  const rest = scaled % whole;
  return ((scaled - rest) / whole + (2 * rest >= whole ? 1 : 0)) / places;
}

/** A percentile between the two nearest values, in proportion. */
export function percentile(share: number, values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const place = share * (sorted.length - 1);
  const low = sorted[Math.floor(place)];
  const high = sorted[Math.ceil(place)];
  return low === undefined || high === undefined ? null : low + (high - low) * (place - Math.floor(place));
}

export function total(values: readonly (number | null | undefined)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** Groups by the text of a key; each group comes with the key's parts. */
export function grouped<Item, const Key extends readonly (string | number | null)[]>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): { readonly key: Key; readonly items: readonly Item[] }[] {
  const groups = Map.groupBy(items, (item) => JSON.stringify(keyOf(item)));
  return [...groups.values()].map((members) => ({ key: keyOf(members[0] as Item), items: members }));
}
