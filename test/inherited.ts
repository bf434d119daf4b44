/** What the processes that tests start take over from the test run: each has no other variables than a test gives it. */
export const inherited = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
