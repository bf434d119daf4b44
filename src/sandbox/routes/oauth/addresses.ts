/** Where the endpoints of 5.3 and section 9 lie, below the base address. */
export const addresses = {
  discovery: '/.well-known/oauth-authorization-server',
  registration: '/api/v1/oauth/register',
  authorization: '/api/v1/oauth/authorize',
  token: '/api/v1/oauth/token',
} as const;
