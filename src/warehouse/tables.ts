import type { Columns, MirrorTable, Stored, StoredProvenance } from './columns.ts';
import type { calls } from './entities/calls/calls.ts';
import type { callLegs } from './entities/calls/legs.ts';
import type { recordings } from './entities/calls/recordings.ts';
import type { transcripts } from './entities/calls/transcripts.ts';
import type { smsLines } from './entities/directory/lines.ts';
import type { webhookSubscriptions } from './entities/directory/subscriptions.ts';
import type { users } from './entities/directory/users.ts';
import type { smsMessages } from './entities/texts/messages.ts';

type Mirror<T> = T extends MirrorTable<infer C extends Columns> ? Stored<C> & StoredProvenance : never;

/** What Kysely knows of the database: the mirrored tables, with the columns that their reads fill. */
export interface Tables {
  'warehouse.calls': Mirror<typeof calls>;
  'warehouse.call_legs': Mirror<typeof callLegs>;
  'warehouse.recordings': Mirror<typeof recordings>;
  'warehouse.sms_lines': Mirror<typeof smsLines>;
  'warehouse.sms_messages': Mirror<typeof smsMessages>;
  'warehouse.transcripts': Mirror<typeof transcripts>;
  'warehouse.users': Mirror<typeof users>;
  'warehouse.webhook_subscriptions': Mirror<typeof webhookSubscriptions>;
}
