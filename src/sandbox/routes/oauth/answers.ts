import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ApiError } from '../../http/errors.ts';
import { OAuthError, type OAuthErrorCode } from '../../oauth/refusals.ts';

/** The errors of the token and the registration endpoint. */
export const oauthErrorBody = z
  .object({ error: z.string().describe('A word of RFC 6749 or RFC 7591.'), error_description: z.string() })
  .meta({ id: 'OAuthError' });

/**
 * Answers what is wrong with a request in the form of RFC 6749; one that cannot be read is called `unreadable`. Whatever
 * else goes wrong is left to the server.
 */
export function oauthErrors(unreadable: OAuthErrorCode) {
  return (error: FastifyError | Error, _request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const code = error instanceof OAuthError ? error.code : unreadable;
    if (!(error instanceof OAuthError) && !isUnreadable(error)) throw error;
    return reply.code(400).header('cache-control', 'no-store').send({ error: code, error_description: error.message });
  };
}

function isUnreadable(error: FastifyError | Error): boolean {
  if (error instanceof ApiError) return error.status === 400;
  return 'statusCode' in error && error.statusCode !== undefined && error.statusCode < 500;
}
