import { readdirSync, readFileSync } from 'node:fs';

const config = new URL('../../config/', import.meta.url);
export const readConfig = (path: string) => readFileSync(new URL(path, config), 'utf8');

/** The files of the cookbook in their order. */
export const questions = readdirSync(new URL('cookbook/', config))
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => ({ file, text: readConfig(`cookbook/${file}`) }));

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly datasource: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
}
export const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  readConfig('grafana/dashboards/trunkline.json'),
);

/** Each query of the dashboard, with Grafana's macros filled in for the last 30 days. */
export const dashboardQueries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ rawSql, format }) => ({ title, format, text: filled(rawSql) })),
);

function filled(sql: string): string {
  const [from, to] = [new Date(Date.now() - 30 * 86_400_000), new Date()].map((moment) => `'${moment.toISOString()}'`);
  return sql
    .replace(/\$__timeFilter\((\w+)\)/g, `$1 between ${from} and ${to}`)
    .replaceAll('$__timeFrom()', from ?? '')
    .replaceAll('$__timeTo()', to ?? '');
}

/** The question of the cookbook whose file begins with a number. */
export function question(number: string): string {
  const found = questions.find(({ file }) => file.startsWith(`${number}-`));
  if (!found) throw new Error(`The cookbook has no ${number}`);
  return found.text;
}

/** The query of the panel with a title. */
export function panel(title: string): string {
  const found = dashboardQueries.find((each) => each.title === title);
  if (!found) throw new Error(`The dashboard has no panel “${title}”`);
  return found.text;
}
