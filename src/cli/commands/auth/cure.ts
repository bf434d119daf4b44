import type { ServiceError } from '../../../service/client.ts';

/** What a refusal that is about the address of the callback names; the address itself is shown as `[address]`. */
const namesRedirect = /redirect|\b(?:uris?|hosts?|https)\b|\[address\]/i;

/** What the user can do about a log in that cannot begin. */
export function cureOf({ operation, advice, message }: ServiceError): string {
  if (operation !== 'oauth.register' || advice === 'retry') return 'See that API_BASE_URL is right.';
  return namesRedirect.test(message)
    ? 'PUBLIC_URL must be HTTPS, with a host that the service’s operator allows.'
    : 'The service does not register this program: ask its operator why.';
}
