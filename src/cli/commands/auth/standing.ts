import { forgetTokens, type LoginStanding, readStanding } from '../../../credentials/tokens.ts';
import { toTheSecond } from '../../../status/words.ts';
import { type ConsentFlags, consents } from '../../consent.ts';
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

/** Forgets the tokens, after a look where one is wanted; every process stops using them within seconds. */
export async function runLogout(flags: ConsentFlags): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  await using database = await openLogins(settings, log);
  const { db } = database;
  const isMeant = await consents(flags, async () => {
    const wasLoggedIn = (await readStanding(db)) !== undefined;
    const sentence = wasLoggedIn
      ? 'The tokens would be forgotten; without an API key, nothing is mirrored then.'
      : 'Nobody is logged in; there is nothing to forget.';
    return { sentence, facts: { wasLoggedIn } };
  });
  if (!isMeant) return;
  const wasLoggedIn = await forgetTokens(db);
  if (flags.json) return console.log(JSON.stringify({ wasLoggedIn, isDone: true }));
  console.log(
    wasLoggedIn
      ? 'The tokens are forgotten. The service knows no way to give them back: take the permission away in its portal too.'
      : 'Nobody was logged in.',
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
    `  made      ${toTheSecond(loggedInAt)}`,
    `  expires   ${toTheSecond(expiresAt)}${state === 'lost' ? '' : ', refreshed by itself'}`,
  );
  if (lastError !== null) lines.push(`  trouble   ${lastError}`);
  return lines.join('\n');
}
