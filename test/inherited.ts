/**
 * What the processes that tests start take over from the test run: each has no other variables than a test gives it. None fills in
 * history by itself, which would read beside what a test counts.
 */
export const inherited = {
  BACKFILL_DAYS: '0',
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};
