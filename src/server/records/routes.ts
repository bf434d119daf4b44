import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { createRulesReader, type RulesReader } from '../../rules/versions.ts';
import {
  answering,
  limited,
  onConnection,
  oneAtATime,
  type Parameters,
  pageHeaders,
  serveCsv,
  servePage,
  textOf,
} from '../answering.ts';
import { signInOf } from '../auth.ts';
import { liveScript } from '../html.ts';
import { maxCsvRows, pageNumberOf, readAll, readCsv, readPage } from '../row-list.ts';
import { doneSentence, registerActions } from './actions.ts';
import { callPage } from './call-page.ts';
import { deliveryPage } from './delivery.ts';
import { choiceOf, renderList, sourceOf } from './list-page.ts';
import { lists } from './lists.ts';
import { type RecordPage, renderOutage, renderRecord, style } from './page-parts.ts';
import { versionOf, versionPage } from './rules-version.ts';
import { explanationPage, runPage } from './run.ts';
import { sendIdOf, sendPage } from './send.ts';
import { targetOf, targetPage } from './target.ts';
import { threadPage } from './thread-page.ts';
import { idOf, type View, viewOf } from './view.ts';

/** What the page of a record needs. */
interface Asked {
  readonly params: Readonly<Record<string, string>>;
  readonly view: View;
  /** All parameters of its address. */
  readonly query: Parameters;
  readonly rules: RulesReader;
  /** Who signed in with a name. */
  readonly user: string | undefined;
}

/** The pages of records: their paths, entries in the header, and content. */
const records: readonly (readonly [
  path: string,
  current: string,
  read: (tx: Transaction, asked: Asked) => Promise<RecordPage>,
])[] = [
  ['/deliveries/:id', '/deliveries', (tx, { params, view }) => deliveryPage(tx, idOf(params.id), view)],
  ['/calls/:id', '/reports', (tx, { params, view }) => callPage(tx, params.id, view)],
  // Fastify limits the length of named parameters, but a group can have many participants.
  ['/threads/*', '/reports', (tx, { params, view, query }) => threadPage(tx, params['*'] ?? '', query, view)],
  ['/targets/:kind/*', '/targets', (tx, { params, view }) => targetPage(tx, targetOf(params.kind, params['*']), view)],
  ['/sends/:id', '/sends', (tx, { params, view }) => sendPage(tx, sendIdOf(params.id), view)],
  [
    '/rules/runs/:id',
    '/rules',
    async (tx, { params, rules, view }) => runPage(tx, idOf(params.id), { view, rules: await rules(tx) }),
  ],
  [
    '/rules/explain/:id',
    '/rules',
    async (tx, { params, rules, view }) => explanationPage(tx, params.id ?? '', { view, rules: await rules(tx) }),
  ],
  ['/rules/history/:id', '/rules', (tx, { params, ...asked }) => versionPage(tx, versionOf(params.id), asked)],
];

/** Serves the lists of deliveries, reads, sends and so on as pages, CSV and JSON, and a page for each row. */
export function registerRecords(app: FastifyInstance, context: Context): void {
  const { db } = context.database;
  const { timeZone, hoursZone } = context.settings;
  const view = viewOf(timeZone);
  const rules = createRulesReader(hoursZone, context.log);
  const readOnce = oneAtATime();
  const read = <T>(work: (connection: Database) => Promise<T>) => readOnce(() => onConnection(db, work));
  const doneOf = (query: Parameters) => doneSentence(textOf(query, 'done'));

  app.register(async (scope) => {
    await scope.register(helmet, pageHeaders(style, { inline: liveScript }));

    for (const list of lists) {
      servePage(scope, list.path, renderOutage, async (request) => {
        const { query } = request;
        const choice = choiceOf(list, query, view);
        const window = { page: pageNumberOf(query.page), maxCounted: maxCsvRows };
        return read(async (connection) => {
          const rows = await readPage(connection, sourceOf(list, choice), window);
          const above = await limited(connection, async (tx) => list.above?.(tx, view));
          return renderList(list, choice, { rows, above, done: doneOf(query) });
        });
      });
      serveCsv(scope, `${list.path}.csv`, async ({ query }) => {
        const source = sourceOf(list, choiceOf(list, query, view));
        const csv = await read((connection) => readCsv(connection, source));
        return { name: list.path.slice(1).replaceAll('/', '-'), csv };
      });
      scope.get<{ Querystring: Parameters }>(`${list.path}.json`, ({ query }, reply) =>
        answering<unknown>(
          reply,
          (error) => ({ error }),
          async () => {
            const source = sourceOf(list, choiceOf(list, query, view));
            return (await read((connection) => readAll(connection, source))).rows;
          },
        ),
      );
    }

    for (const [path, current, readRecord] of records) {
      servePage(scope, path, renderOutage, async (request) => {
        const { query, params } = request;
        const asked = { params, query, view, rules, user: signInOf(request).user };
        const record = await read((connection) => limited(connection, (tx) => readRecord(tx, asked)));
        return renderRecord(record, current, doneOf(query));
      });
    }
    registerActions(scope, context);
  });
}
