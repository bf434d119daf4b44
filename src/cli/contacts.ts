import { readFile, stat } from 'node:fs/promises';
import { type Database, inTransaction, query, sql } from '../db/database.ts';
import { WrongUse } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { type Contact, type ContactField, contactFields, type Imported, storeContacts } from '../warehouse/contacts.ts';
import { sameNumbers, typedNumber } from '../warehouse/phone-numbers.ts';
import { csvRows } from './csv.ts';
import { openDatabase } from './environment.ts';
import { type Output, renderColumns } from './output.ts';
import { type ConsentFlags, confirm } from './terminal.ts';

/** A row of the file that isn't stored. */
interface Refusal {
  readonly line: number;
  readonly reason: string;
}

interface ImportFlags extends ConsentFlags {
  readonly replace?: boolean;
  readonly remove?: number;
}

/** Stores the rows of a CSV file, and lists those that it refuses; exit code 1 if there are any. */
export async function importContacts(file: string, flags: ImportFlags): Promise<Output> {
  const list = parseContacts(await readText(file), file);
  await using database = await openDatabase('contacts import');
  if (flags.remove !== undefined && !flags.replace) throw new WrongUse('--remove goes with --replace.');
  const run = (isDone: boolean) => importList(database.db, list, flags, isDone);
  if (flags.dryRun) return await run(false);
  if (flags.replace) {
    await confirm(flags, async () => {
      const { text = '', json } = await run(false);
      return { sentence: text, data: json as object };
    });
  }
  return await run(true);
}

/** To remove more contacts than this and a tenth of all, their number has to be given: the file may be cut off. */
const freelyRemoved = 10;

/** Imports a list. Unless `isDone`, the transaction is rolled back, and the output says what would happen. */
async function importList(
  db: Database,
  { fields, contacts, lines, refused, ignored, empty }: ReturnType<typeof parseContacts>,
  { replace = false, remove, dryRun }: ImportFlags,
  isDone: boolean,
): Promise<Output> {
  // A refused row can be any contact's, so no contact is certainly missing.
  const isRemoving = replace && refused.length === 0;
  const rollback = new Error('the import was only counted');
  let result: Imported = { added: 0, changed: 0, removed: 0, erased: new Set() };
  let isRefused = false;
  await inTransaction(db, async (tx) => {
    const [held] = await query(tx, sql<{ count: number }>`select count(*)::integer as count from warehouse.contacts`);
    result = await storeContacts(tx, contacts, { fields, replace: isRemoving });
    const { removed } = result;
    const isMany = removed > Math.max(freelyRemoved, (held?.count ?? 0) / 10);
    isRefused = isRemoving && (remove === undefined ? isMany : remove !== removed);
    const missing = `the file lacks ${removed} of the ${held?.count} contacts`;
    if (isRefused && !dryRun) {
      throw new WrongUse(`Nothing was imported: ${missing}. If they are to go, add --remove ${removed}.`);
    }
    if (!isDone) throw rollback;
  }).catch((error: unknown) => {
    if (error !== rollback) throw error;
  });
  const { erased, added, changed, removed } = result;
  const left = [...erased].map((number) => ({ line: lines.get(number) ?? 0, reason: 'this person was erased' }));
  const all = [...refused, ...left].sort((a, b) => a.line - b.line);
  const unchanged = contacts.length - erased.size - added - changed;
  const sentences = [
    `${isDone ? 'Imported' : 'This would import'} ${countOf(contacts.length - erased.size, 'contact')}: ${added} new, ${changed} changed, ${unchanged} unchanged.`,
    isRemoving && `${countOf(removed, 'contact')} that the file lacks ${isDone ? 'removed' : 'would be removed'}.`,
    isRefused && `It needs --remove ${removed}.`,
    empty.length > 0 && `Left as they are, since no row has a value: ${empty.join(', ')}.`,
    replace && !isRemoving && 'No contact is removed, since rows were refused.',
    ignored.length > 0 && `Left out, since contacts have no such column: ${ignored.join(', ')}.`,
    all.length > 0 && `${countOf(all.length, 'row')} refused:\n${tableOfRefusals(all)}`,
  ];
  return {
    json: { added, changed, unchanged, removed, refused: all, ignored, empty, isDone },
    text: sentences.filter((each) => each !== false).join('\n'),
    failed: all.length > 0,
  };
}

const maxShown = 100;

function tableOfRefusals(refused: readonly Refusal[]): string {
  const rows = refused.slice(0, maxShown).map(({ line, reason }) => [line, reason]);
  const more = refused.length - rows.length;
  return `${renderColumns(['line', 'reason'], rows)}${more > 0 ? `\nand ${more} more: --json has all` : ''}`;
}

const maxMebibytes = 64;

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > maxMebibytes * 2 ** 20) throw new WrongUse(`${file} is larger than ${maxMebibytes} MiB: split it.`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    if (error instanceof WrongUse) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new WrongUse(
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? `${file} is not in UTF-8: save it as “CSV UTF-8”.`
        : `${file} cannot be read (${code}).`,
    );
  }
}

const known: readonly string[] = ['number', ...contactFields];

/** The contacts in a text whose first row names the columns, in any order. Throws `WrongUse` for another first row. */
export function parseContacts(text: string, file: string) {
  const firstLine = text.slice(0, 10_000).split(/[\r\n]/, 1)[0] ?? '';
  const separator = ([',', ';', '\t'] as const).find((each) => firstLine.includes(each)) ?? ',';
  const rows = csvRows(text, separator);
  const first = rows.next();
  const head = (first.done ? [] : (first.value.cells ?? [])).map((each) => each.trim().toLowerCase());
  const fields = contactFields.filter((field) => head.includes(field));
  const isTwice = known.some((name) => head.indexOf(name) !== head.lastIndexOf(name));
  if (!head.includes('number') || fields.length === 0 || isTwice) {
    throw new WrongUse(
      `${file}: the first line must name the columns: number, and one or more of ${contactFields.join(', ')}; each once.`,
    );
  }
  const refused: Refusal[] = [];
  const found = new Map<string, { readonly line: number; readonly contact: Contact }>();
  const contradicted = new Set<string>();
  for (const { line, cells } of rows) {
    const contact = cells ? contactOf(head, cells) : 'a quote is wrong, or a cell or the row is too long';
    if (typeof contact === 'string') {
      refused.push({ line, reason: contact });
      continue;
    }
    const { number } = contact;
    const earlier = found.get(number);
    if (!earlier) found.set(number, { line, contact });
    else if (JSON.stringify(earlier.contact) !== JSON.stringify(contact)) {
      const reason = (other: number) => `line ${other} has other values for this number`;
      if (!contradicted.has(number)) refused.push({ line: earlier.line, reason: reason(line) });
      refused.push({ line, reason: reason(earlier.line) });
      contradicted.add(number);
    }
  }
  for (const number of contradicted) found.delete(number);
  const contacts = [...found.values()].map(({ contact }) => contact);
  const filled = fields.filter((field) => contacts.some((contact) => (contact[field] ?? '').length > 0));
  return {
    fields: filled,
    contacts,
    /** The line of each number. */
    lines: new Map([...found].map(([number, { line }]) => [number, line])),
    refused,
    /** Columns that contacts don't have. */
    ignored: head.filter((name) => name !== '' && !known.includes(name)),
    /** Columns without a value in any row: they change nothing. */
    empty: contacts.length === 0 ? [] : fields.filter((field) => !filled.includes(field)),
  };
}

const languageCode = /^([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*$/i;
const maxLength = (field: ContactField) => (field === 'tags' ? 2_000 : 200);

/** The contact of a row, or why it is refused. */
function contactOf(head: readonly string[], cells: readonly string[]): Contact | string {
  const [texts, beyond] = [cells.slice(0, head.length), cells.slice(head.length)];
  if (beyond.some((each) => each.trim() !== ''))
    return 'more cells than the first line: quote a cell with the separator';
  const row = new Map(texts.map((text, at) => [head[at] ?? '', text.replace(/[\s\p{Cc}]+/gu, ' ').trim()]));
  const textOf = (name: string) => row.get(name) ?? '';
  const typed = typedNumber(textOf('number'));
  if ('problem' in typed) return typed.problem;
  const language = languageCode.exec(textOf('language'))?.[1]?.toLowerCase() ?? null;
  if (language === null && textOf('language') !== '') return 'the language is no code such as es';
  const long = contactFields.find((field) => textOf(field).length > maxLength(field));
  if (long) return `${long} has more than ${maxLength(long)} characters`;
  const tags = textOf('tags')
    .toLowerCase()
    .split(/ ?[,;|] ?/);
  return {
    number: sameNumbers(typed.number)[0] ?? typed.number,
    name: textOf('name') || null,
    company: textOf('company') || null,
    owner: textOf('owner') || null,
    language,
    tags: [...new Set(tags)].filter((tag) => tag !== ''),
  };
}
