import type { FastifyInstance } from 'fastify';
import { sql } from '../db/database.ts';
import { countOf } from '../shared/format.ts';
import { sameNumbers, spellingsOf, typedNumber } from '../warehouse/phone-numbers.ts';
import { type Parameters, textOf } from './address.ts';
import type { Html } from './html.ts';
import { answerPage, link, renderPage, soft } from './page.ts';
import { type Condition, type Pages, type Row, readTable, renderTable, type Table } from './table.ts';

const maxRows = 20;

/** Serves the search for a customer by number or name: straight to the thread if there is nothing to choose. */
export function serveSearch(app: FastifyInstance, pages: Pages): void {
  app.get<{ Querystring: Parameters }>('/search', async (request, reply) => {
    const typed = textOf(request.query, 'q') ?? '';
    const found = typed === '' ? undefined : await findCustomers(pages, typed);
    const rows = found?.rows ?? [];
    const [only] = rows;
    if (only?.thread && rows.length === 1 && only.calls === '0') return reply.redirect(`/threads/${only.thread}`, 303);
    const count = new Set(rows.map(({ number }) => sameNumbers(number ?? '')[0])).size;
    const who = count === 0 ? 'Nobody' : rows.length < maxRows ? countOf(count, 'customer') : `The first ${count}`;
    const title = typed === '' ? 'Search for a customer' : `${who} found for ${typed}`;
    const how = soft('Write a whole number or as you dial it, four digits of it or more, or a part of a name.');
    const content = found && count > 0 ? renderTable(title, found, shown, pages.zone) : how;
    return answerPage(reply, renderPage({ title, current: '/threads', parts: [content] }));
  });
}

const all =
  (path: string) =>
  (words: string, { number }: Row): Html =>
    link(`${path}${number}`, words);
const shown = {
  hidden: ['number'],
  opens: ({ thread, call_id }: Row) => (thread ? `/threads/${thread}` : call_id ? `/calls/${call_id}` : undefined),
  show: {
    calls: all('/calls?span=all&number='),
    texts_of_rules: all('/sends?number='),
  },
};

/**
 * The threads and calls of this number. If nobody has it: of the numbers with these digits, or the names with these
 * words.
 */
async function findCustomers(pages: Pages, typed: string): Promise<Table> {
  const whole = typedNumber(typed, { orShortCode: true, orUnassigned: true });
  const exact = 'number' in whole && (await readCustomers(pages, [whole.number]));
  if (exact && exact.rows.length > 0) return exact;
  const digits = typed.replace(/\D/g, '');
  const isDigits = digits.length >= 4 && !/\p{L}/u.test(typed);
  const { rows } = await readTable(pages, isDigits ? having(digits) : named(typed));
  return await readCustomers(
    pages,
    rows.map(({ number }) => number ?? ''),
  );
}

/** Numbers that contain these digits. Reads the number of every customer. */
const having = (digits: string) => sql`select number from (
    select number, last_message_at as at from warehouse.sms_conversations where participants_key = '' and deleted_at is null
    union all select number, null from rollups.contacts union all select number, null from warehouse.contacts) known
  where number like ${`%${digits}%`} group by number order by max(at) desc nulls last, number limit ${maxRows}`;

/** Numbers whose names contain these words. */
function named(typed: string): Condition {
  const words = `%${typed.replace(/[\\%_]/g, '\\$&')}%`;
  return sql`select number from (
      select number, name from warehouse.contacts where name ilike ${words} or company ilike ${words}
      union all
      select external_number, caller_name from warehouse.calls
      where started_at > now() - interval '90 days' and direction = 'inbound' and caller_name ilike ${words} and external_number is not null
    ) named group by number order by min(name) limit ${maxRows}`;
}

/** A row for each thread of each form of these numbers, or one without a thread. */
function readCustomers(pages: Pages, numbers: readonly string[]): Promise<Table> {
  const forms = numbers.flatMap(spellingsOf);
  return readTable(
    pages,
    sql`with found as materialized (select distinct number from (
      select number from warehouse.sms_conversations where number = any(${forms}) and participants_key = '' and deleted_at is null
      union all select external_number from warehouse.calls where external_number = any(${forms})
      union all select number from warehouse.contacts where number = any(${forms})) known)
    select coalesce(k.name || ' (' || f.number || ')', f.number) as customer, t.line, t.message_count as texts, t.last_message_at as newest_text_at,
      coalesce(c.calls, 0) as calls, c.started_at as newest_call_at, 'show' as texts_of_rules, o.opt_status as automatic_texts,
      t.line || '/' || f.number as thread, f.number, c.call_id
    from found f
      left join warehouse.contacts k on k.number = warehouse.contact_number(f.number)
      left join warehouse.sms_conversations t on t.number = f.number and t.participants_key = '' and t.deleted_at is null
      left join lateral (
        select count(*) over () as calls, call_id, started_at from warehouse.calls where external_number = f.number
        order by started_at desc limit 1
      ) c on true
      left join lateral (
        select opt_status from reporting.sms_opt_status o
        where o.number = any(${forms}) and warehouse.contact_number(o.number) = warehouse.contact_number(f.number)
          and opt_status in ('opt_out', 'unsure') order by opt_status limit 1
      ) o on true
    order by t.last_message_at desc nulls last, c.started_at desc nulls last limit ${maxRows}`,
  );
}
