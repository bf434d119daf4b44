/**
 * Whether the database accepts writes. Commits a message to the write-ahead log, which leaves no row. A full disk or a
 * missing synchronous standby refuses or delays this commit, just like those of deliveries.
 */
export const writeProbe = `select current_setting('transaction_read_only') = 'off' as "takesWrites",
  case when current_setting('transaction_read_only') = 'off' then pg_logical_emit_message(true, 'trunkline', '') end as at`;
