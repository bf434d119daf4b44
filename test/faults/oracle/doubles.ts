import type { Pool } from 'pg';

/** What must not stand twice, by what names it at the service; the tables' own keys already forbid the rest. */
const doubles = {
  'a message in two conversations': `select message_id from warehouse.sms_messages where deleted_at is null
     group by message_id having count(*) > 1`,
  'a conversation': `select line, number, participants from warehouse.sms_conversations
     group by line, number, participants having count(*) > 1`,
  'a leg': 'select unique_id from warehouse.call_legs where deleted_at is null group by unique_id having count(*) > 1',
  'a recording':
    'select unique_id from warehouse.recordings where deleted_at is null group by unique_id having count(*) > 1',
  'a transcript of one recording': `select call_id, recording_file from warehouse.transcripts where deleted_at is null
     group by call_id, recording_file having count(*) > 1`,
  'a receipt of one message': `select message_id from warehouse.sms_message_delivery_events
     group by message_id, delivery_status, delivery_at having count(*) > 1`,
} as const;

/** Says what stands twice in the warehouse. */
export async function doubledRows(database: Pool): Promise<string[]> {
  const found: string[] = [];
  for (const [what, sql] of Object.entries(doubles)) {
    const { rows } = await database.query(sql);
    if (rows.length > 0) found.push(`${what}: ${JSON.stringify(rows.slice(0, 5))}`);
  }
  return found;
}
