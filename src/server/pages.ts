import type { FastifyInstance } from 'fastify';
import { findings } from '../checks/checks.ts';
import { reportChecks } from '../checks/reporting.ts';
import type { Context } from '../context.ts';
import { pageConnections } from '../db/connection-limits.ts';
import { createDatabase, type Transaction } from '../db/database.ts';
import { createRulesReader, type RulesReader } from '../rules/versions.ts';
import type { Parameters } from './address.ts';
import { signInOf } from './auth.ts';
import { registerMetrics, sharedOverview } from './health.ts';
import { serveList } from './list.ts';
import { lists } from './lists.ts';
import { answerPage, type RecordPage, renderPage } from './page.ts';
import { doneSentence, registerActions } from './records/actions.ts';
import { callPage } from './records/call.ts';
import { registerMedia } from './records/media.ts';
import { versionOf, versionPage } from './records/rules-version.ts';
import { sendIdOf, sendPage } from './records/send.ts';
import { threadPage } from './records/thread.ts';
import { type View, viewOf } from './records/view.ts';
import { explanationPage } from './records/why.ts';
import { registerReports } from './reports/routes.ts';
import { serveSearch } from './search.ts';
import { serveStatus } from './status.ts';

/** What the address of a record has: its id, and its parameters. */
type Asked = readonly [id: string, query: Parameters, rules: RulesReader];

/** The pages of records: their paths, entries in the menu, and content. */
const records: readonly (readonly [
  path: string,
  current: string,
  read: (tx: Transaction, view: View, ...asked: Asked) => Promise<RecordPage>,
])[] = [
  ['/calls/:id', '/calls', (tx, view, id) => callPage(tx, id, view)],
  // Fastify limits the length of named parameters, but a group can have many participants.
  ['/threads/*', '/threads', (tx, view, id, query) => threadPage(tx, id, query, view)],
  ['/sends/:id', '/sends', (tx, view, id) => sendPage(tx, sendIdOf(id), view)],
  ['/rules/explain/:id', '/rules', (tx, view, id, _, rules) => explanationPage(tx, id, view, rules)],
  ['/rules/history/:id', '/rules', (tx, view, id) => versionPage(tx, versionOf(id), view)],
];

/** Serves the pages, which need the admin token: status, lists, a page for each row, reports; and the metrics. */
export function registerPages(app: FastifyInstance, context: Context): void {
  const { settings, sealer, log } = context;
  const { timeZone, hoursZone, databaseUrl } = settings;
  const limits = { maxConnections: pageConnections, statementMs: 5_000 };
  const database = createDatabase({ url: databaseUrl, log, name: 'pages', ...limits, isReadOnly: true });
  app.addHook('onClose', () => database[Symbol.asyncDispose]());
  const pages = { ...database, zone: timeZone };
  const view = viewOf(timeZone, settings.arePageWordsShown, sealer);
  const rules = createRulesReader(hoursZone, log);

  serveStatus(app, sharedOverview(context), timeZone);
  registerMetrics(app, context);
  registerReports(app, pages, context, () => findings({ ...context, database }, reportChecks));
  for (const list of lists) serveList(app, pages, list, view);
  serveSearch(app, pages);
  for (const [path, current, read] of records) {
    app.get<{ Querystring: Parameters; Params: Record<string, string> }>(path, async (request, reply) => {
      const { query, params } = request;
      const own = { ...view, user: signInOf(request).user };
      const id = params.id ?? params['*'] ?? '';
      const record = await pages.db.transaction().execute((tx) => read(tx, own, id, query, rules));
      const done = doneSentence(query);
      // What an action did shows within seconds.
      const page = renderPage({ ...record, current, done, isLive: done !== undefined });
      return answerPage(reply, page);
    });
  }
  registerMedia(app, pages.db, view);
  registerActions(app, context, pages, view);
}
