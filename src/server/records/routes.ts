import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { known, part, readWithTimeout } from '../../ops/snapshot.ts';
import { answering, asCsv, asPage, asText, limited, onConnection, oneAtATime, pageHeaders } from '../answering.ts';
import { liveScript } from '../html.ts';
import { countRows, csvOfRows, maxCsvRows, pageNumberOf, readCsvRows, readRowList, rowsPerPage } from '../row-list.ts';
import { registerActions } from './actions.ts';
import { callPage } from './call-page.ts';
import { deliveryPage } from './delivery.ts';
import { renderOutage, style } from './frame.ts';
import { choiceOf, type ListDefinition, renderList } from './list-page.ts';
import { deliveries } from './lists.ts';
import { threadPage } from './thread-page.ts';
import { idOf, type Parameters, textOf, type View, viewOf } from './view.ts';

type Route = { Querystring: Parameters; Params: Readonly<Record<string, string>> };

/** The page of one record: of the parameters of its path, in a view; `query` has what else its address says. */
type Render = (db: Database, params: Route['Params'], view: View, query: Parameters) => Promise<string>;

const records: Readonly<{ [path: string]: Render }> = {
  '/deliveries/:id': (db, { id }, view, query) => deliveryPage(db, idOf(id), view, textOf(query, 'done')),
  '/calls/:id': (db, { id }, view) => callPage(db, id, view),
  // Fastify bounds the length of named parameters, and a group has many participants.
  '/threads/*': (db, { '*': key }, view, query) => threadPage(db, key ?? '', query, view),
};

const lists: readonly ListDefinition[] = [deliveries];

/** Serves the lists of deliveries, reads, sends and so on, each as a page and as CSV, and a page for each of their rows. */
export function registerRecords(app: FastifyInstance, context: Context): void {
  const { db } = context.database;
  const { timeZone } = context.settings;
  const readOnce = oneAtATime();

  app.register(async (scope) => {
    await scope.register(helmet, pageHeaders(style, { inline: liveScript }));

    for (const list of lists) {
      scope.get<Route>(list.path, async ({ query }, reply) => {
        asPage(reply);
        return answering(reply, renderOutage, async () => {
          const choice = choiceOf(list, query, timeZone);
          const page = pageNumberOf(query.page);
          const source = list.source(choice);
          const window = { limit: rowsPerPage, offset: (page - 1) * rowsPerPage };
          const [rows, counted] = await readOnce(() =>
            onConnection(db, async (connection) => [
              await limited(connection, (tx) => readRowList(tx, source, window)),
              await part(() => readWithTimeout(connection, (tx) => countRows(tx, source.from, maxCsvRows + 1))),
            ]),
          );
          const total = known(counted, Number.POSITIVE_INFINITY);
          return renderList(list, choice, { list: rows, page, total: total <= maxCsvRows ? total : undefined });
        });
      });

      scope.get<Route>(`${list.path}.csv`, async ({ query }, reply) => {
        asText(reply);
        return answering(reply, String, async () => {
          const source = list.source(choiceOf(list, query, timeZone));
          const rows = await readOnce(() =>
            onConnection(db, (connection) => limited(connection, (tx) => readCsvRows(tx, source))),
          );
          asCsv(reply, `${list.path.slice(1).replaceAll('/', '-')}.csv`);
          return csvOfRows(rows);
        });
      });
    }

    for (const [path, render] of Object.entries(records)) {
      scope.get<Route>(path, async ({ query, params }, reply) => {
        asPage(reply);
        return answering(reply, renderOutage, async () => {
          const view = viewOf(query, timeZone);
          return readOnce(() =>
            onConnection(db, (connection) => limited(connection, (tx) => render(tx, params, view, query))),
          );
        });
      });
    }
    registerActions(scope, context);
  });
}
