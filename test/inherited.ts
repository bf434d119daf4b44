import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What the processes that tests start take over from the test run: each has no other variables than a test gives it. None fills in
 * history by itself, which would read beside what a test counts, and none finds
 * what whoever runs the tests has in `.data` and `.env`.
 */
export const inherited = {
  BACKFILL_DAYS: '0',
  NODE_ENV: 'test',
  DATA_DIR: join(tmpdir(), `trunkline-commands-${process.getuid?.() ?? ''}`),
  HOME: process.env.HOME,
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  XDG_STATE_HOME: process.env.XDG_STATE_HOME,
};
