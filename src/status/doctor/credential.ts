import type { ReadySettings } from '../../context.ts';
import { countSealedOtherwise } from '../../credentials/resealing.ts';
import type { Database } from '../../warehouse/database.ts';
import { credentialWords, readCredential } from '../facts/credential.ts';
import { quantity } from '../words.ts';
import { type Finding, findingsOn } from './finding.ts';

const on = findingsOn('API');

/** Whether ENCRYPTION_KEY_PREVIOUS is still needed; silent where none is set, or the tables are not there yet. */
export async function examineKeys(settings: ReadySettings, db: Database): Promise<Finding[]> {
  if (settings.encryptionKeyPrevious === undefined) return [];
  const count = await countSealedOtherwise(db, settings).catch(() => undefined);
  if (count === undefined) return [];
  const sentence =
    count === 0
      ? 'Nothing stored needs ENCRYPTION_KEY_PREVIOUS any more: it can be removed.'
      : `Values in the database that may need ENCRYPTION_KEY_PREVIOUS: ${quantity(count)}. A worker seals them with ENCRYPTION_KEY when it starts.`;
  return [findingsOn('Settings').ok(sentence)];
}

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
