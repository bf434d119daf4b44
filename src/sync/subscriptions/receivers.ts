import { type Database, query } from '../../warehouse/database.ts';
import { receiverOf } from './addresses.ts';
import { unwatchedSeconds } from './watched.ts';

/*
 * Two receivers of one database can want the webhooks at different addresses, while a secret is rotated for example. No
 * look can know which of the two is out of date, so the one that came last takes the webhooks over, once, and keeps them
 * for as long as it looks after them.
 *
 * newcomer ─ takes over ─▶ holder ─ another takes over ─▶ left out ─ the holder is gone ─▶ holder
 *     ▲                      │                              │
 *     └───── is stopped ─────┴──────────────────────────────┘
 */

/** Another receiver that is alive has the webhooks at an address of its own: they are left to it. */
export class ReceiversDiffer extends Error {
  override readonly name = 'ReceiversDiffer';
  readonly code = 'receivers_differ';

  constructor() {
    super(
      'Two receivers of this database differ in WEBHOOK_SECRET or PUBLIC_URL, and the other one has the webhooks: ' +
        'stop the one that is out of date, or give it the settings of the other; ' +
        'while a secret is rotated, set the old one as WEBHOOK_SECRET_PREVIOUS.',
    );
  }
}

/** Tells whether a receiver is another one, to which the one that wants `ownUrl` has to leave the webhooks. */
export async function readHolders(db: Database, ownUrl: string): Promise<(receiver: string | undefined) => boolean> {
  const rows = await query<{ address_hash: string }>(
    db,
    `select distinct address_hash from ops.processes
     where address_hash is not null and looked_at > now() - $1::integer * interval '1 second'`,
    [unwatchedSeconds],
  );
  const living = new Set(rows.map((row) => row.address_hash));
  // A service may show our own address so that it is not known as ours: that is no other receiver.
  const isNewcomer = !living.delete(receiverOf(ownUrl));
  return (receiver) => !isNewcomer && receiver !== undefined && living.has(receiver);
}

/** Notes that the receiver that wants `ownUrl` has looked; from then on it is no newcomer. */
export async function noteLook(db: Database, ownUrl: string, processId = receiverOf(ownUrl)): Promise<void> {
  await query(
    db,
    `insert into ops.processes (process_id, address_hash, looked_at) values ($1, $2, now())
     on conflict (process_id) do update set address_hash = excluded.address_hash, looked_at = excluded.looked_at`,
    [processId, receiverOf(ownUrl)],
  );
  await query(db, `delete from ops.processes where greatest(looked_at, seen_at) < now() - interval '1 day'`, []);
}

/** Notes that the receiver that wants `ownUrl` looks no more: one that is started anew, or another one, is no rival of it. */
export async function forgetLook(db: Database, ownUrl: string): Promise<void> {
  await query(db, 'update ops.processes set address_hash = null, looked_at = null where address_hash = $1', [
    receiverOf(ownUrl),
  ]);
}
