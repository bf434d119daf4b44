import { forgetTokens, type LoginStanding, readStanding } from '../../../credentials/tokens.ts';
import { commandSettings } from '../../environment.ts';
import { createRemarks } from '../../remarks.ts';
import { openLogins } from './logins.ts';

const log = createRemarks('error');

/** Says which credential is in use, and how the log in stands. */
export async function runStatus({ json }: { json?: boolean }): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  await using database = await openLogins(settings, log);
  const login = await readStanding(database.db);
  const inUse = settings.api.key !== undefined ? 'api_key' : login ? 'login' : 'none';
  console.log(json ? JSON.stringify({ inUse, login: login ?? null }) : standingWords(inUse, login));
}

/** Forgets the tokens; every process stops using them within seconds. */
export async function runLogout({ yes = false, json }: { yes?: boolean; json?: boolean }): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  await using database = await openLogins(settings, log);
  const held = yes ? await forgetTokens(database.db) : (await readStanding(database.db)) !== undefined;
  if (json) return console.log(JSON.stringify({ wasLoggedIn: held, isDone: yes }));
  if (!held) return console.log('Nobody is logged in.');
  console.log(
    yes
      ? 'The tokens are forgotten. The service knows no way to give them back: take the permission away in its portal too.'
      : 'This would forget the tokens; without an API key, nothing is mirrored then. --yes does it.',
  );
}

function standingWords(inUse: 'api_key' | 'login' | 'none', login: LoginStanding | undefined): string {
  const lines = [
    { api_key: 'In use: API_KEY.', login: 'In use: the log in.', none: 'In use: nothing; nobody is logged in.' }[inUse],
  ];
  if (login === undefined) return lines.join('\n');
  const { state, scopes, user, service, loggedInAt, expiresAt, lastError } = login;
  lines.push(
    '',
    `  state     ${{ valid: 'valid', refreshing: 'valid, being refreshed', lost: 'lost: run `trunkline auth login`' }[state]}`,
    `  service   ${service}`,
    `  user      ${user ?? 'not known'}`,
    `  scopes    ${scopes.join(' ')}`,
    `  made      ${loggedInAt.toISOString()}`,
    `  expires   ${expiresAt.toISOString()}${state === 'lost' ? '' : ', refreshed by itself'}`,
  );
  if (lastError !== null) lines.push(`  trouble   ${lastError}`);
  return lines.join('\n');
}
