/**
 * Whether the database takes writes. Commits a message to the write-ahead log, which leaves no row: a full disk or a standby that
 * is waited for refuses or delays the commit, as it does those of deliveries.
 */
export const writeProbe = `select current_setting('transaction_read_only') = 'off' as "takesWrites",
  case when current_setting('transaction_read_only') = 'off' then pg_logical_emit_message(true, 'trunkline', '') end as at`;
