import { createReadStream } from 'node:fs';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { cachedFor, DatabaseUnavailable } from '../../ops/snapshot.ts';
import { forgetOldest } from '../../shared/bounded.ts';
import { BadAddress, limited, oneAtATime, type Parameters, pageHeaders, serveCsv, servePage } from '../answering.ts';
import { pageNumberOf, readCsv, readPage } from '../row-list.ts';
import { queryOf } from './choice.ts';
import { csvOf } from './figures.ts';
import { chartsScript, libraryFile, renderOutage, style } from './frame.ts';
import { readOptions } from './freshness.ts';
import { fileName, renderReport, renderRowsPage } from './page.ts';
import { narrowed, pictures, rowSetOf } from './pictures.ts';
import { type Report, reading, readReport } from './report.ts';
import { followed, type RowSet, rowSource } from './rows.ts';

/** Milliseconds for which a report is cached. The rollups change about every half minute. */
const sharedMs = 10_000;
const maxCachedReports = 20;

/** Limits the cost of a request for rows. */
const maxCounted = 100_000;

/**
 * Serves `/reports?from=2026-11-01&to=2026-11-21&queue=queue:6001`, the CSV of each picture, `/reports/volume.csv`, and
 * the rows behind each figure, `/reports/rows?set=answered` and `/reports/rows.csv`. All accept the same parameters.
 */
export function registerReports(app: FastifyInstance, { database: { db } }: Pick<Context, 'database'>): void {
  const readOnce = oneAtATime();
  const reports = new Map<string, () => Promise<Report>>();
  const sharedReport = (parameters: Parameters) => {
    const key = JSON.stringify(parameters);
    const shared = reports.get(key) ?? cachedFor(sharedMs, () => readOnce(() => reading(db, parameters, readReport)));
    reports.set(key, shared);
    forgetOldest(reports, maxCachedReports);
    return shared();
  };

  app.register(async (scope) => {
    await scope.register(helmet, pageHeaders(style, 'files'));

    servePage(scope, '/reports', renderOutage, async ({ query }) => renderReport(await sharedReport(query)));

    // Cached forever, because their URLs change with their content.
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
      serveCsv(scope, `/reports/${picture.name}.csv`, async ({ query }) => {
        const { choice, drawn } = await readOnce(() =>
          reading(db, query, (each) => readReport(each, [picture], false)),
        );
        const [one] = drawn;
        if (one?.figures.state !== 'known') {
          throw new DatabaseUnavailable(`This could not be read: ${one?.figures.reason}`);
        }
        return { name: fileName(picture.name, choice), csv: csvOf(one.figures.value) };
      });
    }

    servePage(scope, '/reports/rows', renderOutage, async ({ query }) => {
      const { set, parameters } = setOf(query);
      const window = { page: pageNumberOf(query.page), maxCounted };
      const { choice, rows, options } = await readOnce(() =>
        reading(db, query, async (each) => {
          const choice = followed(set.table, each.choice);
          const rows = await readPage(each.db, rowSource(set, choice), window);
          return { choice, rows, options: await limited(each.db, readOptions) };
        }),
      );
      const address = { path: '/reports/rows', parameters: `${parameters}&${queryOf(choice)}` };
      return renderRowsPage({ title: set.title, ...rows, ...address }, choice, options);
    });

    serveCsv(scope, '/reports/rows.csv', async ({ query }) => {
      const { set, name } = setOf(query);
      return readOnce(() =>
        reading(db, query, async (each) => {
          const choice = followed(set.table, each.choice);
          return { name: fileName(name, choice), csv: await readCsv(each.db, rowSource(set, choice)) };
        }),
      );
    });
  });
}

/** The rows that an address asks for, and its parameters for them. Throws `BadAddress`. */
function setOf({ set: name, word, except: others }: Parameters): { name: string; set: RowSet; parameters: string } {
  const set = rowSetOf(name);
  if (!set) throw new BadAddress('set must name the rows of a figure: follow a link of /reports.');
  const [only, except] = [listOf(word), listOf(others)];
  const parameters = [
    `set=${name}`,
    ...only.map((each) => `word=${encodeURIComponent(each)}`),
    ...except.map((each) => `except=${encodeURIComponent(each)}`),
  ];
  return { name: String(name), set: narrowed(set, only, except), parameters: parameters.join('&') };
}

function listOf(value: unknown): string[] {
  const values = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return values.slice(0, 10).map((each) => String(each).slice(0, 250));
}
