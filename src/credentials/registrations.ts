import type { Client, OAuth } from '../service/oauth/oauth.ts';
import { type Database, query } from '../warehouse/database.ts';

/** The name that users are shown when they are asked. */
const clientName = 'Trunkline';

/**
 * As whom the daemon is known to a service: registered once for each address that users are sent back to (5.3), and kept.
 * `isAnew` registers another time, for a service that has forgotten. Rejects with `ServiceError`.
 */
export async function knownClient(
  db: Database,
  oauth: Pick<OAuth, 'register'>,
  { service, redirectUri, isAnew }: { service: string; redirectUri: string; isAnew: boolean },
): Promise<Client> {
  const [known] = await query<{ clientId: string }>(
    db,
    'select client_id as "clientId" from secrets.oauth_clients where service = $1 and redirect_uri = $2',
    [service, redirectUri],
  );
  if (known && !isAnew) return { clientId: known.clientId, redirectUri };
  const client = await oauth.register({ name: clientName, redirectUri });
  await query(
    db,
    `insert into secrets.oauth_clients (service, redirect_uri, client_id) values ($1, $2, $3)
     on conflict (service, redirect_uri) do update set client_id = excluded.client_id, registered_at = now()`,
    [service, redirectUri, client.clientId],
  );
  return client;
}
