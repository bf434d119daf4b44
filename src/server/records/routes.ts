import { readFile } from 'node:fs/promises';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { parseRules } from '../../rules/file/parse.ts';
import type { RuleSet } from '../../rules/rule.ts';
import {
  limited,
  onConnection,
  oneAtATime,
  type Parameters,
  pageHeaders,
  serveCsv,
  servePage,
  textOf,
} from '../answering.ts';
import { liveScript } from '../html.ts';
import { maxCsvRows, pageNumberOf, readCsv, readPage } from '../row-list.ts';
import { registerActions } from './actions.ts';
import { callPage } from './call-page.ts';
import { deliveryPage } from './delivery.ts';
import { renderOutage, style } from './frame.ts';
import { choiceOf, type ListDefinition, renderList } from './list-page.ts';
import { coverage, deliveries, gaps, hours, runs, sends, targets } from './lists.ts';
import { explanationPage, runPage } from './run.ts';
import { sendIdOf, sendPage } from './send.ts';
import { targetOf, targetPage } from './target.ts';
import { threadPage } from './thread-page.ts';
import { idOf, type View, viewOf } from './view.ts';

/** What the page of one record is rendered with. */
interface Asked {
  readonly params: Readonly<Record<string, string>>;
  readonly view: View;
  /** All that its address says. */
  readonly query: Parameters;
  /** The action that led here. */
  readonly done: string | undefined;
  /** Of the rules file; undefined when it cannot be read here. */
  readonly rules: () => Promise<RuleSet | undefined>;
}

const records: Readonly<Record<string, (tx: Transaction, asked: Asked) => Promise<string>>> = {
  '/deliveries/:id': (tx, { params, view, done }) => deliveryPage(tx, idOf(params.id), view, done),
  '/calls/:id': (tx, { params, view }) => callPage(tx, params.id, view),
  // Fastify bounds the length of named parameters, and a group has many participants.
  '/threads/*': (tx, { params, view, query }) => threadPage(tx, params['*'] ?? '', query, view),
  '/targets/:kind/*': (tx, { params, view, done }) => targetPage(tx, targetOf(params.kind, params['*']), view, done),
  '/sends/:id': async (tx, { params, rules, ...rest }) =>
    sendPage(tx, sendIdOf(params.id), { ...rest, rules: await rules() }),
  '/rules/runs/:id': async (tx, { params, rules, ...rest }) =>
    runPage(tx, idOf(params.id), { ...rest, rules: await rules() }),
  '/rules/explain/:id': async (tx, { params, rules, view }) =>
    explanationPage(tx, params.id ?? '', { view, rules: await rules() }),
};

const lists: readonly ListDefinition[] = [deliveries, targets, coverage, hours, gaps, sends, runs];

/** Serves the lists of deliveries, reads, sends and so on, each as a page and as CSV, and a page for each of their rows. */
export function registerRecords(app: FastifyInstance, context: Context): void {
  const { db } = context.database;
  const { timeZone, rulesFile } = context.settings;
  const rules = () => readRuleSet(rulesFile, timeZone);
  const readOnce = oneAtATime();
  const read = <T>(work: (connection: Database) => Promise<T>) => readOnce(() => onConnection(db, work));

  app.register(async (scope) => {
    await scope.register(helmet, pageHeaders(style, { inline: liveScript }));

    for (const list of lists) {
      servePage(scope, list.path, renderOutage, async ({ query }) => {
        const choice = choiceOf(list, query, timeZone);
        const window = { page: pageNumberOf(query.page), maxCounted: maxCsvRows };
        const { rows, above } = await read(async (connection) => ({
          rows: await readPage(connection, list.source(choice), window),
          above: await limited(connection, async (tx) => list.above?.(tx, choice.view, textOf(query, 'done'))),
        }));
        return renderList(list, choice, rows, above);
      });
      serveCsv(scope, `${list.path}.csv`, async ({ query }) => {
        const source = list.source(choiceOf(list, query, timeZone));
        const csv = await read((connection) => readCsv(connection, source));
        return { name: list.path.slice(1).replaceAll('/', '-'), csv };
      });
    }

    for (const [path, render] of Object.entries(records)) {
      servePage(scope, path, renderOutage, async ({ query, params }) => {
        const asked = { params, query, view: viewOf(query, timeZone), done: textOf(query, 'done'), rules };
        return read((connection) => limited(connection, (tx) => render(tx, asked)));
      });
    }
    registerActions(scope, context);
  });
}

/** The rules of the file that this process has; undefined when there is none, or it has mistakes. */
async function readRuleSet(file: string, timeZone: string): Promise<RuleSet | undefined> {
  try {
    return parseRules(await readFile(file, 'utf8'), { file, timeZone });
  } catch {
    return undefined;
  }
}
