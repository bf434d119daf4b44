import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** GET and PATCH /_sandbox/account and /_sandbox/users/{id}/role: what the owner has set. */
export function accountRoutes(_api: Api, _context: Context): void {}
