/** For how long a test waits for a condition: a little less than its own time limit, so that what it waited for is said. */
export const conditionTimeoutMs = 220_000;
