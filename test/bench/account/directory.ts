import type { Client } from 'pg';
import { timeZone, userCount } from './calendar.ts';

/** What every mirrored row ends with. */
export const provenance = 'content_hash, source, fetch_seq, fetched_at';

const firstNames =
  'Ada Ben Clara David Esther Felix Grace Hugo Iris Jonas Klara Leo Mira Noah Olga Paul Quinn Rosa Sam Tova';
const lastNames =
  'Adler Brandt Conti Dorfman Ellis Fuchs Grant Haas Ivers Janssen Kaplan Lang Moreau Novak Oliver Perez';

/** Users with their extensions, and the lines that text. */
export async function inventDirectory(client: Client): Promise<void> {
  await client.query(
    `update reporting.params set time_zone = '${timeZone}', is_text_shown = true;
     update reporting.schedules set time_zone = '${timeZone}';
     delete from reporting.open_hours;
     insert into reporting.open_hours
     select '', (day + time '09:00') at time zone '${timeZone}', (day + time '17:00') at time zone '${timeZone}'
     from (select day::date from generate_series(timestamp '2015-01-01', '2035-01-01', '1 day') day) days
     where extract(isodow from day) <= 5;
     insert into warehouse.users (user_id, username, first_name, last_name, extension, time_zone, ${provenance})
     select n, 'user' || n, bench.one_of(string_to_array('${firstNames}', ' '), bench.draw(n, 1)),
       bench.one_of(string_to_array('${lastNames}', ' '), bench.draw(n, 2)), (999 + n)::text, '${timeZone}', 'invented', 'bench', 1, now()
     from generate_series(1, ${userCount}) n;
     insert into warehouse.user_endpoints (user_id, kind, endpoint, valid_from)
     select user_id, 'extension', extension, '-infinity' from warehouse.users;
     insert into warehouse.sms_lines (line, name, is_unrestricted, ${provenance})
     select (18455559000 + n)::text, 'Line ' || n, true, 'invented', 'bench', 1, now() from generate_series(0, 11) n;
     analyze warehouse.users; analyze warehouse.user_endpoints`,
  );
}
