import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { cachedFor, DatabaseUnavailable, part, readWithTimeout } from '../../ops/snapshot.ts';
import { forgetOldest } from '../../shared/bounded.ts';
import { queryOf } from './choice.ts';
import { csvOf } from './figures.ts';
import { chartsScript, libraryFile, renderOutage, style } from './frame.ts';
import { readOptions } from './freshness.ts';
import { fileName, renderReport } from './page.ts';
import { BadChoice, pictures, type Reading, type Report, reading, readReport } from './pictures.ts';
import { countRows, csvOfRows, followed, narrowed, type RowSet, readRows, rowSetOf, rowsPerPage } from './rows.ts';
import { renderRows } from './rows-page.ts';

/** Milliseconds for which a report is cached: the rollups change about every half minute. */
const sharedMs = 10_000;
const maxCachedReports = 20;

/** Bounds of what a request for rows can cost. */
const countedRows = 100_000;
const maxCsvRows = 20_000;

type Parameters = Readonly<Record<string, unknown>>;
type Route = { Querystring: Parameters };

/**
 * Serves `/reports?from=2026-11-01&to=2026-11-21&queue=queue:6001`, the CSV of each picture, `/reports/volume.csv`, and the rows
 * behind each figure, `/reports/rows?set=answered` and `/reports/rows.csv`, all with the same parameters.
 */
export function registerReports(app: FastifyInstance, { database }: Pick<Context, 'database'>): void {
  const { db } = database;
  const readOnce = oneAtATime();
  const reports = new Map<string, () => Promise<Report>>();
  const sharedReport = (parameters: Parameters) => {
    const key = JSON.stringify(parameters);
    const read = reports.get(key) ?? cachedFor(sharedMs, () => readOnce(() => reading(db, parameters, readReport)));
    reports.set(key, read);
    forgetOldest(reports, maxCachedReports);
    return read();
  };

  app.register(async (scope) => {
    await scope.register(helmet, { strictTransportSecurity: false, contentSecurityPolicy: policy() });

    scope.get<Route>('/reports', async ({ query }, reply) => {
      asPage(reply);
      return refusing(reply, renderOutage, async () => renderReport(await sharedReport(query)));
    });

    // Cached for ever: their URLs change with their content.
    const assets = {
      '/reports/echarts.js': () => createReadStream(libraryFile()),
      '/reports/charts.js': () => chartsScript,
    };
    for (const [path, read] of Object.entries(assets)) {
      scope.get(path, (_request, reply) =>
        reply
          .type('text/javascript; charset=utf-8')
          .header('cache-control', 'private, max-age=31536000, immutable')
          .send(read()),
      );
    }

    for (const picture of pictures) {
      scope.get<Route>(`/reports/${picture.name}.csv`, async ({ query }, reply) => {
        asText(reply);
        return refusing(reply, String, async () => {
          const { choice, drawn } = await readOnce(() =>
            reading(db, query, (each) => readReport(each, [picture], false)),
          );
          const [one] = drawn;
          if (one?.figures.state !== 'known') {
            reply.code(503);
            return `This could not be read: ${one?.figures.reason}`;
          }
          asCsv(reply, fileName(picture.name, choice));
          return csvOf(one.figures.value);
        });
      });
    }

    scope.get<Route>('/reports/rows', async ({ query }, reply) => {
      asPage(reply);
      return refusing(reply, renderOutage, async () => {
        const { set, parameters } = setOf(query);
        const page = pageOf(query.page);
        const offset = (page - 1) * rowsPerPage;
        const { choice, list, count, options } = await readOnce(() =>
          reading(db, query, async (each) => {
            const choice = followed(set, each.choice);
            return {
              choice,
              list: await limited(each, (tx) => readRows(tx, set, choice, { limit: rowsPerPage, offset })),
              count: await part(() => readWithTimeout(each.db, (tx) => countRows(tx, set, choice, countedRows + 1))),
              options: await limited(each, readOptions),
            };
          }),
        );
        const total = count.state === 'known' && count.value <= countedRows ? count.value : undefined;
        const shown = { set, choice, options, list, page, total, maxCsvRows };
        return renderRows({ ...shown, parameters: `${parameters}&${queryOf(choice)}` });
      });
    });

    scope.get<Route>('/reports/rows.csv', async ({ query }, reply) => {
      asText(reply);
      return refusing(reply, String, async () => {
        const { set, name } = setOf(query);
        const { choice, list } = await readOnce(() =>
          reading(db, query, async (each) => {
            const choice = followed(set, each.choice);
            const rows = { limit: maxCsvRows + 1, isForCsv: true };
            return { choice, list: await limited(each, (tx) => readRows(tx, set, choice, rows)) };
          }),
        );
        if (list.rows.length > maxCsvRows) {
          throw new BadChoice(`These are more than ${maxCsvRows} rows: choose fewer days or a filter.`);
        }
        asCsv(reply, fileName(name, choice));
        return csvOfRows(list);
      });
    });
  });
}

/** Runs reports one after the other, so that they never hold more than one of the connections that deliveries need. */
function oneAtATime(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run, run);
    last = next.catch(() => undefined);
    return next;
  };
}

/** A statement that takes too long is the reader's to change: a shorter range is faster. */
async function limited<T>({ db }: Reading, read: (db: Database) => Promise<T>): Promise<T> {
  try {
    return await readWithTimeout(db, read);
  } catch (error) {
    const isTimeout = error instanceof Error && 'code' in error && error.code === '57014';
    if (isTimeout) throw new BadChoice('This takes too long to read: choose fewer days.');
    throw new DatabaseUnavailable(`This could not be read: ${String(error)}`, { cause: error });
  }
}

function setOf(query: Parameters): { name: string; set: RowSet; parameters: string } {
  const set = rowSetOf(query.set);
  if (!set) throw new BadChoice('set must name the rows of a figure: follow a link of /reports.');
  const [only, except] = [listOf(query.word), listOf(query.except)];
  const words = [...only.map((word) => ['word', word]), ...except.map((word) => ['except', word])];
  const parameters = [['set', String(query.set)], ...words].map(
    ([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`,
  );
  return { name: String(query.set), set: narrowed(set, { only, except }), parameters: parameters.join('&') };
}

function listOf(value: unknown): string[] {
  const values = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return values.slice(0, 10).map((each) => String(each).slice(0, 250));
}

function pageOf(value: unknown): number {
  const page = Number(value ?? 1);
  const last = countedRows / rowsPerPage;
  if (!Number.isInteger(page) || page < 1 || page > last)
    throw new BadChoice(`page must be a number from 1 to ${last}.`);
  return page;
}

/** Answers with a sentence when the URL is wrong or Postgres is away. */
async function refusing(reply: FastifyReply, say: (sentence: string) => string, answer: () => Promise<string>) {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof BadChoice || error instanceof DatabaseUnavailable)) throw error;
    reply.code(error instanceof BadChoice ? 400 : 503);
    return say(error.message);
  }
}

function asPage(reply: FastifyReply): void {
  reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
}

function asText(reply: FastifyReply): void {
  reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
}

function asCsv(reply: FastifyReply, name: string): void {
  reply.type('text/csv; charset=utf-8; header=present').header('content-disposition', `attachment; filename="${name}"`);
}

/** Allows the page's own style, by its hash, and scripts and forms of this server. */
function policy() {
  return {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: [`'sha256-${createHash('sha256').update(style).digest('base64')}'`],
      imgSrc: ['data:'],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  };
}
