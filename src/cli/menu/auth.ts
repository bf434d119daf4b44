import { type Command, InvalidArgumentError } from 'commander';
import { reporting } from '../exit.ts';
import { addConsent, jsonFlag, wholeNumber } from './arguments.ts';

/** The login in the place of an API key. */
export function addAuth(program: Command): void {
  const standing = () => import('../commands/auth/standing.ts');
  const group = program.command('auth').description('Whom the daemon acts for where it has no API key.');
  group
    .command('login')
    .description('Lets a user allow it in a browser; the answer comes to the receiver at PUBLIC_URL.')
    .option('--scopes <names>', 'ask for these, separated by commas; default: what the mirror reads', words)
    .option('--wait <seconds>', 'how long to wait for the answer', wholeNumber(1, 86_400), 600)
    .option('--register', 'make the daemon known to the service anew, if that has forgotten it')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/auth/login.ts')).runLogin(options)));
  group
    .command('status')
    .description('Which credential is in use, what it may do, and whether somebody has to log in.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await standing()).runStatus(options)));
  addConsent(group.command('logout'))
    .description('Forgets the tokens; every process stops using them within seconds. On a terminal it asks first.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await standing()).runLogout(options)));
}

function words(text: string): string[] {
  const found = text.split(/[\s,]+/).filter(Boolean);
  if (found.length === 0) throw new InvalidArgumentError('It must name at least one scope.');
  return [...new Set(found)];
}
