import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** Resolve, reopen, assign, comment on, mark and delete conversations (4.2). */
export function conversationRoutes(_api: Api, _context: Context): void {}
