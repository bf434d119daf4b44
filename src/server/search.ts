import type { FastifyInstance } from 'fastify';
import { type Database, query, sql } from '../db/database.ts';
import { countOf } from '../shared/format.ts';
import { spellingsOf, typedNumber } from '../shared/phone-numbers.ts';
import { type Parameters, textOf } from './address.ts';
import { type Html, html } from './html.ts';
import { answerPage, items, link, renderPage, section, soft } from './page.ts';
import type { View } from './records/view.ts';
import type { Condition, Pages } from './table.ts';

const maxCustomers = 20;

/** One other party, and what is held of it. */
interface Customer {
  readonly number: string;
  readonly name: string | null;
  readonly threads: readonly { readonly line: string; readonly texts: number; readonly at: string | null }[];
  readonly calls: number;
  readonly lastCall: { readonly id: string; readonly at: string } | null;
  readonly optedOut: string | null;
}

/** Serves the search for a customer by number or name: straight to the thread if there is nothing to choose. */
export function serveSearch(app: FastifyInstance, pages: Pages, view: View): void {
  app.get<{ Querystring: Parameters }>('/search', async (request, reply) => {
    const typed = textOf(request.query, 'q') ?? '';
    const found = typed === '' ? [] : await findCustomers(pages, typed);
    const [only] = found;
    const [thread] = only?.threads ?? [];
    if (only && thread && found.length === 1 && only.threads.length === 1 && only.calls === 0)
      return reply.redirect(`/threads/${thread.line}/${only.number}`, 303);
    const page = renderPage({
      title: titleOf(typed, found),
      current: '/threads',
      parts:
        found.length > 0
          ? [html`<div class="cards">${found.map((each) => cardOf(each, view))}</div>`]
          : [soft('Write a whole number or as you dial it, four digits of it or more, or a part of a name.')],
    });
    return answerPage(reply, page);
  });
}

function titleOf(typed: string, { length }: readonly Customer[]): string {
  if (typed === '') return 'Search for a customer';
  if (length === 0) return `Nobody was found for ${typed}`;
  return length < maxCustomers
    ? `${countOf(length, 'customer')} found for ${typed}`
    : `The first ${length} found for ${typed}`;
}

/** Whoever has this number; or, if nobody has, a number with these digits; or a name with these words. */
async function findCustomers({ db }: Pages, typed: string): Promise<Customer[]> {
  const whole = typedNumber(typed, { orShortCode: true, orUnassigned: true });
  const exact = 'number' in whole ? await readCustomers(db, among(spellingsOf(whole.number))) : [];
  if (exact.length > 0) return exact;
  const digits = typed.replace(/\D/g, '');
  if (digits.length >= 4 && !/\p{L}/u.test(typed)) return readCustomers(db, having(digits));
  const words = `%${typed.replace(/[\\%_]/g, '\\$&')}%`;
  return readCustomers(
    db,
    sql`select number from (
        select number, name from warehouse.contacts where name ilike ${words} or company ilike ${words}
        union all
        select external_number, caller_name from warehouse.calls
        where started_at > now() - interval '90 days' and direction = 'inbound' and caller_name ilike ${words} and external_number is not null
      ) named group by number order by min(name) limit ${maxCustomers}`,
  );
}

const among = (numbers: readonly string[]) => sql`select distinct number from (
    select number from warehouse.sms_conversations where number = any(${numbers}) and participants_key = '' and deleted_at is null
    union all select external_number from warehouse.calls where external_number = any(${numbers})
    union all select number from warehouse.contacts where number = any(${numbers})) known`;

/** The digits as somebody remembers them: it reads the number of every customer. */
const having = (digits: string) => sql`select number from (
    select number, last_message_at as at from warehouse.sms_conversations where participants_key = '' and deleted_at is null
    union all select number, null from rollups.contacts union all select number, null from warehouse.contacts) known
  where number like ${`%${digits}%`} group by number order by max(at) desc nulls last, number limit ${maxCustomers}`;

function readCustomers(db: Database, numbers: Condition): Promise<Customer[]> {
  return query<Customer>(
    db,
    sql`with found as materialized (${numbers})
    select f.number, k.name, coalesce(t.threads, '[]') as threads, coalesce(c.calls, 0) as calls, c."lastCall",
      (select opt_status from reporting.sms_opt_status o where o.number = f.number and opt_status in ('opt_out', 'unsure') limit 1) as "optedOut"
    from found f
      left join warehouse.contacts k on k.number = warehouse.contact_number(f.number)
      left join lateral (
        select jsonb_agg(jsonb_build_object('line', line, 'texts', message_count, 'at', last_message_at) order by last_message_at desc) as threads
        from warehouse.sms_conversations where number = f.number and participants_key = '' and deleted_at is null
      ) t on true
      left join lateral (
        select count(*)::integer as calls, (array_agg(jsonb_build_object('id', call_id, 'at', started_at) order by started_at desc))[1] as "lastCall"
        from warehouse.calls where external_number = f.number
      ) c on true`,
  );
}

function cardOf({ number, name, threads, calls, lastCall, optedOut }: Customer, view: View): Html {
  const rows = [
    ...threads.map(
      ({ line, texts, at }) =>
        html`${link(`/threads/${line}/${number}`, countOf(texts, 'text'))} on ${line}${at !== null && html`, the newest ${view.time(new Date(at))}`}`,
    ),
    ...(lastCall === null
      ? []
      : [
          html`${link(`/calls?number=${number}&span=all`, countOf(calls, 'call'))}, ${link(`/calls/${lastCall.id}`, 'the newest')} ${view.time(new Date(lastCall.at))}`,
        ]),
    html`${link(`/sends?number=${number}`, 'Texts of rules')}`,
  ];
  const optOut = { opt_out: 'Opted out of automatic texts.', unsure: 'May have opted out of automatic texts.' }[
    optedOut ?? ''
  ];
  return section(
    name === null ? number : `${name} (${number})`,
    html`${optOut !== undefined && html`<p class="warning">${optOut}</p>`}${items(rows)}`,
  );
}
