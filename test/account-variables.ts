import { settingsRows } from '../config/settings.ts';

/** What names an account, its stores or who is told; besides what libraries and libpq read by themselves. */
export const ofAnAccount = [
  ...settingsRows().map(({ name }) => name),
  ...['TRUNKLINE_COMMAND', 'NODE_OPTIONS'],
  ...['PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE', 'PGSERVICE', 'PGSERVICEFILE', 'PGPASSFILE'],
  ...['PGOPTIONS', 'PGSSLMODE', 'HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'CONFORMANCE_BASE_URL'],
];
