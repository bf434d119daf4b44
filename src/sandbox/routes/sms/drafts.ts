import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** PUT and DELETE /sms/drafts/{draftId} (4.4). */
export function draftRoutes(_api: Api, _context: Context): void {}
