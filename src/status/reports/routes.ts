import { createHash } from 'node:crypto';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { recent } from '../recent.ts';
import { DatabaseUnavailable } from '../snapshot.ts';
import { csvOf } from './csv.ts';
import { renderReport, renderReportOutage } from './page.ts';
import { type Period, periods } from './picture.ts';
import { pictures, readReport } from './pictures.ts';
import { style } from './style.ts';

/** Rollups are drained every half minute or so: asking more often shows nothing new. In milliseconds. */
const sharedMs = 10_000;

const usualPeriod: Period = 30;
const badPeriod = `days must be ${periods.slice(0, -1).join(', ')} or ${periods.at(-1)}.`;

/** `/reports?days=30` and the CSV of each of its pictures, `/reports/volume.csv?days=30`. */
export function registerReports(app: FastifyInstance, { database }: Pick<Context, 'database'>): void {
  const reports = new Map(
    periods.map((period) => [period, recent(() => readReport(database.db, period), sharedMs)] as const),
  );

  app.register(async (scope) => {
    await scope.register(helmet, { strictTransportSecurity: false, contentSecurityPolicy: policy() });

    scope.get<{ Querystring: { days?: unknown } }>('/reports', async ({ query }, reply) => {
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
      const read = reports.get(periodOf(query.days) ?? usualPeriod);
      if (!read || !periodOf(query.days)) return reply.code(400).send(renderReportOutage(badPeriod));
      try {
        return renderReport(await read());
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        return reply.code(503).send(renderReportOutage(error.message));
      }
    });

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

/** The period that a query names, the usual one when it names none; undefined for one that there is not. */
function periodOf(days: unknown): Period | undefined {
  return days === undefined ? usualPeriod : periods.find((period) => String(period) === days);
}

/** Nothing but the page's own style, known by its hash. */
function policy() {
  return {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      styleSrc: [`'sha256-${createHash('sha256').update(style).digest('base64')}'`],
      imgSrc: ['data:'],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  };
}
