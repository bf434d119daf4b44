import { type LoginStanding, readStanding } from '../../credentials/tokens.ts';
import type { Database } from '../../warehouse/database.ts';
import { ago } from '../words.ts';

/** What this process shows the service, or would: an API key of its own, else the log in that all processes share. */
export type CredentialFacts =
  | { readonly use: 'api_key' }
  | ({ readonly use: 'login' } & Omit<LoginStanding, 'service'>)
  | { readonly use: 'none' };

export async function readCredential(db: Database, apiKey: string | undefined): Promise<CredentialFacts> {
  if (apiKey !== undefined) return { use: 'api_key' };
  const standing = await readStanding(db);
  if (standing === undefined) return { use: 'none' };
  const { service: _, ...login } = standing;
  return { use: 'login', ...login };
}

/** Which credential is in use, and whether somebody has to log in. */
export function credentialWords(facts: CredentialFacts, at: Date): string {
  switch (facts.use) {
    case 'api_key':
      return 'API key';
    case 'none':
      return 'no API key here, and nobody is logged in';
    case 'login': {
      const whose = `log in${facts.user === null ? '' : ` of ${facts.user}`}`;
      return facts.state === 'lost' ? `${whose}, lost: log in again` : `${whose}, made ${ago(facts.loggedInAt, at)}`;
    }
  }
}
