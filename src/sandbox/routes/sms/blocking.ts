import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** Blocked senders of a line (4.3). */
export function blockingRoutes(_api: Api, _context: Context): void {}
