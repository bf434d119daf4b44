/** The names of the lists, for the help of `list`, which must not load them. */
export const listNames = [
  'threads',
  'calls',
  'rules',
  'rules/history',
  'sends',
  'opt-outs',
  'deliveries',
  'targets',
  'coverage',
] as const;
