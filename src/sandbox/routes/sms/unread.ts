import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** Unread counts, and marking a line read (4.3). */
export function unreadRoutes(_api: Api, _context: Context): void {}
