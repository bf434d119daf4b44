import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { cachedFor, DatabaseUnavailable } from '../../ops/snapshot.ts';
import { csvOf, type Period, periods } from './figures.ts';
import { chartsScript, libraryFile, renderReport, renderReportOutage, style } from './page.ts';
import { pictures, readReport } from './pictures.ts';

/** Milliseconds for which a report is cached: the rollups change about every half minute. */
const sharedMs = 10_000;

const usualPeriod: Period = 30;
const badPeriod = `days must be ${periods.slice(0, -1).join(', ')} or ${periods.at(-1)}.`;

/** Serves `/reports?days=30` and the CSV of each picture, `/reports/volume.csv?days=30`. */
export function registerReports(app: FastifyInstance, { database }: Pick<Context, 'database'>): void {
  const reports = new Map(
    periods.map((period) => [period, cachedFor(sharedMs, () => readReport(database.db, period))] as const),
  );

  app.register(async (scope) => {
    await scope.register(helmet, { strictTransportSecurity: false, contentSecurityPolicy: policy() });

    scope.get<{ Querystring: { days?: unknown } }>('/reports', async ({ query }, reply) => {
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
      const read = reports.get(periodOf(query.days) ?? usualPeriod);
      if (!read || !periodOf(query.days)) return reply.code(400).send(renderReportOutage(badPeriod));
      try {
        return await renderReport(await read());
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        return reply.code(503).send(renderReportOutage(error.message));
      }
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
      scope.get<{ Querystring: { days?: unknown } }>(`/reports/${picture.name}.csv`, async ({ query }, reply) => {
        reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
        const period = periodOf(query.days);
        if (!period) return reply.code(400).send(badPeriod);
        try {
          const [drawn] = (await readReport(database.db, period, [picture])).drawn;
          if (drawn?.figures.state !== 'known') {
            return reply.code(503).send(`This could not be read: ${drawn?.figures.reason}`);
          }
          return reply
            .type('text/csv; charset=utf-8; header=present')
            .header('content-disposition', `attachment; filename="${picture.name}-${period}-days.csv"`)
            .send(csvOf(drawn.figures.value));
        } catch (error) {
          if (!(error instanceof DatabaseUnavailable)) throw error;
          return reply.code(503).send(error.message);
        }
      });
    }
  });
}

/** The period of a query, by default {@link usualPeriod}; undefined when it is invalid. */
function periodOf(days: unknown): Period | undefined {
  return days === undefined ? usualPeriod : periods.find((period) => String(period) === days);
}

/** Allows the page's own style, by its hash, and scripts of this server. */
function policy() {
  return {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: [`'sha256-${createHash('sha256').update(style).digest('base64')}'`],
      imgSrc: ['data:'],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  };
}
