import { readList } from '../server/list.ts';
import { listNames } from '../server/list-names.ts';
import { lists } from '../server/lists.ts';
import { jsonOf } from '../server/table.ts';
import { toType } from '../shared/command-name.ts';
import { WrongUse } from '../shared/errors.ts';
import { toTheSecond } from '../shared/format.ts';
import { dayMs } from '../shared/time-range.ts';
import { type RangeFlags, rangeOf } from './arguments.ts';
import { openDatabase } from './environment.ts';
import { type Output, tableOf } from './output.ts';

/** The rows of a list as its page shows them, newest first. `filters` are `name=value`, as in the page's address. */
export async function printList(name: string | undefined, filters: readonly string[]): Promise<Output> {
  const list = lists.find((each) => each.name === name);
  if (!list) {
    const what = name === undefined ? 'Name a list' : `There is no list ${name}`;
    throw new WrongUse(`${what}: choose one of ${listNames.join(', ')}.`);
  }
  const known = [...Object.keys(list.filters), ...(list.at ? ['span', 'from', 'to'] : [])];
  const query = Object.fromEntries(
    filters.map((filter) => {
      const [key = '', value] = filter.split(/=(.*)/s, 2);
      if (value !== undefined && known.includes(key)) return [key, value];
      throw new WrongUse(`${filter} is no filter of ${name}: write one of ${known.join(', ')}, such as ${known[0]}=….`);
    }),
  );
  await using database = await openDatabase('list');
  const found = await readList(list, { ...database, zone: database.settings.timeZone }, query);
  // Ids are what other commands take.
  const columns = found.columns.filter(({ name }) => /(_id|^thread)$/.test(name) || !list.hidden?.includes(name));
  if (found.rows.length === 0) return { json: jsonOf(found), text: 'There is no such row.' };
  const { timeZone } = database.settings;
  const table = tableOf(
    found.rows,
    columns.map(({ name, type }) => [
      name,
      ({ [name]: value }) => {
        if (type === 'boolean' && value) return value === 't' ? 'yes' : 'no';
        return type === 'moment' && value ? toTheSecond(new Date(value), timeZone) : value;
      },
    ]),
    `${toType(`list ${name} --json`)} has every column.`,
  );
  return { ...table, json: jsonOf(found) };
}

const coverageDays = 14;

/** The rows of `list coverage` in a range of days. */
export function printCoverage(given: RangeFlags): Promise<Output> {
  const { from, to } = rangeOf(given, (coverageDays - 1) * dayMs);
  const dayOf = (moment: Date) => moment.toISOString().slice(0, 10);
  return printList('coverage', [`from=${dayOf(from)}`, `to=${dayOf(new Date(to.getTime() - 1))}`]);
}
