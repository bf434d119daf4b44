import { readList } from '../server/list.ts';
import { lists } from '../server/lists.ts';
import { type Column, jsonOf, type Row } from '../server/table.ts';
import { commandName } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { toTheSecond } from '../shared/format.ts';
import { openDatabase } from './environment.ts';
import { type Output, renderColumns } from './output.ts';

/** The rows of a list, newest first, as its page shows them. `filters` are `name=value`, as in the address of the page. */
export async function printList(name: string, filters: readonly string[]): Promise<Output> {
  const list = lists.find((each) => each.name === name);
  if (!list)
    throw new UserError(`There is no list ${name}: choose one of ${lists.map((each) => each.name).join(', ')}.`);
  const known = [...Object.keys(list.filters), ...(list.at ? ['span', 'from', 'to'] : [])];
  const query = Object.fromEntries(
    filters.map((filter) => {
      const [key = '', value] = filter.split(/=(.*)/s, 2);
      if (value !== undefined && known.includes(key)) return [key, value];
      throw new UserError(
        `${filter} is no filter of ${name}: write one of ${known.join(', ')}, such as ${known[0]}=….`,
      );
    }),
  );
  await using database = await openDatabase('list');
  const found = await readList(list, { ...database, zone: database.settings.timeZone }, query);
  // Ids are what other commands take.
  const columns = found.columns.filter(({ name }) => /(_id|^thread)$/.test(name) || !list.hidden?.includes(name));
  const cell = ({ name, type }: Column, row: Row) =>
    type === 'moment' && row[name] ? toTheSecond(new Date(row[name]), database.settings.timeZone) : (row[name] ?? '');
  const rows = found.rows.map((row) => columns.map((column) => cell(column, row)));
  const head = columns.map((column) => column.name);
  const page = `${commandName} list ${name} --json has every column.`;
  return {
    json: jsonOf(found),
    text: rows.length === 0 ? 'There is no such row.' : `${renderColumns(head, rows)}\n${page}`,
  };
}
