/** `npm test` says within seconds what is broken; processes, outages and a loaded machine get more time, campaigns most. */
const [testMs, conditionMs] =
  process.env.FAULTS === 'all'
    ? [600_000, 220_000]
    : process.env.TEST_SCOPE === 'quick'
      ? [20_000, 15_000]
      : [120_000, 110_000];

/** The time limit of a test and of a hook. */
export const testTimeoutMs = testMs;

/** For how long a test waits for a condition: less than its own time limit, so that what it waited for is said. */
export const conditionTimeoutMs = conditionMs;
