import { describe, expect, test } from 'vitest';
import { remedyOf } from '../../src/cli/auth.ts';
import { json, listenTcp, refusalOf, refuse } from '../api-client/endpoint.ts';
import { document, login, openOAuth, type Respond, startService } from '../api-client/oauth/service.ts';

const asked = { name: 'Trunkline', redirectUri: login.client.redirectUri };
const oauthRefusal =
  (error: string, description: string): Respond =>
  (response) =>
    json(response, 400, { error, error_description: description });
const envelope =
  (status: number, message: string): Respond =>
  (response) =>
    json(response, status, { error: { type: status === 403 ? 'permission_denied' : 'invalid_request', message } });

async function remedyAfter(registration: Respond): Promise<string> {
  const { url } = await startService({ registration });
  return remedyOf(await refusalOf(openOAuth(url).register(asked)));
}

describe('the remedy of a registration that did not succeed', () => {
  test.each<[string, Respond]>([
    ['by the word', oauthRefusal('invalid_redirect_uri', '')],
    ['by the field', oauthRefusal('invalid_client_metadata', 'redirect_uris[0] is not allowed')],
    ['by its host', envelope(403, 'This host is not on the allow-list')],
    ['by its lack of TLS', envelope(400, 'HTTPS is required')],
    ['by a URI', envelope(400, 'This URI is not allowed')],
    ['by the address itself', envelope(400, `${asked.redirectUri} is not allowed`)],
  ])('is PUBLIC_URL where the refusal names the redirect %s', async (_, registration) => {
    expect(await remedyAfter(registration)).toContain('PUBLIC_URL must be HTTPS');
  });

  test.each<[string, Respond]>([
    ['an unknown field', envelope(400, 'unknown field software_id')],
    ['security', envelope(403, 'Refused for security reasons')],
    ['nothing', oauthRefusal('invalid_client_metadata', '')],
  ])('is a word with the operator where it names %s', async (_, registration) => {
    expect(await remedyAfter(registration)).toMatch(/^(?!.*PUBLIC_URL).*operator/);
  });

  test('is a word with the operator where there is no registration', async () => {
    const service = await startService({
      discovery: (response) => json(response, 200, { ...document(service.url), registration_endpoint: undefined }),
    });
    expect(remedyOf(await refusalOf(openOAuth(service.url).register(asked)))).toMatch(/^(?!.*PUBLIC_URL).*operator/);
  });

  test.each<[string, Respond]>([
    ['leads elsewhere', (response) => response.writeHead(302, { location: 'https://host.example.com/' }).end()],
    ['fails', (response) => refuse(response, 500, 'internal_error')],
  ])('is API_BASE_URL where the service %s', async (_, registration) => {
    expect(await remedyAfter(registration)).toBe('Check that API_BASE_URL is right.');
  });
});

test('the remedy of a service that cannot be reached is API_BASE_URL', async () => {
  const { url } = await listenTcp((socket) => socket.destroy());
  expect(remedyOf(await refusalOf(openOAuth(url).discover()))).toBe('Check that API_BASE_URL is right.');
});
