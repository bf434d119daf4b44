import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** POST /sms/messages (4.1). */
export function sendRoutes(_api: Api, _context: Context): void {}
