import type { ReadySettings } from '../../context.ts';
import type { Database } from '../../warehouse/database.ts';
import { credentialWords, readCredential } from '../facts/credential.ts';
import { type Finding, findingsOn } from './finding.ts';

const on = findingsOn('API');

/** Which credential is in use; silent where the tables are not there yet. */
export async function examineCredential({ api, encryptionKey }: ReadySettings, db: Database): Promise<Finding[]> {
  const facts = await readCredential(db, api.key).catch(() => undefined);
  // Without a key of either kind this process was not meant to ask, which another finding says.
  if (facts === undefined || (api.key === undefined && encryptionKey === undefined)) return [];
  if (facts.use === 'none')
    return [on.problem('There is no API key, and nobody is logged in.', 'Run `trunkline auth login`.')];
  // The mirror's own concerns say so.
  if (facts.use === 'login' && facts.state === 'lost') return [];
  const scopes = facts.use === 'login' ? `, with ${facts.scopes.join(' ')}` : '';
  return [on.ok(`In use: ${credentialWords(facts, new Date())}${scopes}.`)];
}
