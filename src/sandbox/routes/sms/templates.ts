import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** Saved replies (4.4). */
export function templateRoutes(_api: Api, _context: Context): void {}
