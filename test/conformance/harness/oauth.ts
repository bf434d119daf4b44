import { createHash, randomBytes } from 'node:crypto';

/** A program that logs a user in as section 5.3 tells, over bare HTTP. */
export interface OAuthClient {
  metadata: Record<string, string> & { scopes_supported: string[] };
  clientId: string;
  verifier: string;
  /** Opens the authorization page; query values replace the usual ones, null leaves one out. */
  authorize(changes?: Record<string, string | null>): Promise<Response>;
  /** Fills the form of the page in, as a user would, and returns where it leads. */
  decide(page: Response, decision: 'allow' | 'deny', userId: number): Promise<URL>;
  /** Asks the token endpoint with a form. */
  tokens(form: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The form that exchanges a code. */
  exchange(code: string, changes?: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }>;
}

export const redirectUri = 'https://app.example.com/oauth/callback';
export const state = 'state of the case';

export async function discover(baseUrl: string): Promise<OAuthClient['metadata']> {
  const response = await fetch(`${baseUrl}/.well-known/oauth-authorization-server`);
  return (await response.json()) as OAuthClient['metadata'];
}

export async function register(
  endpoint: string,
  metadata: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

export async function createOAuthClient(baseUrl: string, scope: readonly string[]): Promise<OAuthClient> {
  const metadata = await discover(baseUrl);
  const registration = { client_name: 'Conformance', redirect_uris: [redirectUri] };
  const { body } = await register(metadata.registration_endpoint ?? '', registration);
  const clientId = String(body.client_id);
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const usual = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scope.join(' '),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };

  async function tokens(form: Record<string, string>) {
    const response = await fetch(metadata.token_endpoint ?? '', { method: 'POST', body: new URLSearchParams(form) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  return {
    metadata,
    clientId,
    verifier,
    tokens,
    authorize(changes = {}) {
      const url = new URL(metadata.authorization_endpoint ?? '');
      for (const [name, value] of Object.entries({ ...usual, ...changes })) {
        if (value !== null) url.searchParams.set(name, value);
      }
      return fetch(url, { redirect: 'manual' });
    },
    async decide(page, decision, userId) {
      const form = new URLSearchParams({ ...hiddenFields(await page.text()), decision, user: String(userId) });
      for (const each of scope) form.append('scope', each);
      const response = await fetch(page.url, { method: 'POST', body: form, redirect: 'manual' });
      return new URL(response.headers.get('location') ?? 'about:blank');
    },
    exchange: (code, changes = {}) =>
      tokens({
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        client_id: clientId,
        redirect_uri: redirectUri,
        ...changes,
      }),
  };
}

function hiddenFields(page: string): Record<string, string> {
  const fields = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
