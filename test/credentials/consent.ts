import { mirrorScopes } from '../../src/credentials/login.ts';
import { decide, open, ticketOf } from '../sandbox/oauth/login.ts';

export interface Decision {
  /** Default: one who may do everything in the portal. */
  readonly user?: number;
  readonly scope?: readonly string[];
  readonly decision?: 'allow' | 'deny';
}

/** Answers the consent page as a person would; resolves to where the browser is sent. */
export async function consent(url: string, how: Decision = {}): Promise<string> {
  const { user = 4156, scope = mirrorScopes, decision = 'allow' } = how;
  const { body } = await open(url);
  const answer = await decide(url, { ticket: ticketOf(body), user: String(user), scope, decision });
  return answer.headers.get('location') as string;
}
