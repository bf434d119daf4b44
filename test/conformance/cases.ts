import type { Case } from './case.ts';
import { access } from './sections/access.ts';
import { billing } from './sections/billing.ts';
import { callSearch } from './sections/call-search.ts';
import { calls } from './sections/calls.ts';
import { conversations } from './sections/conversations.ts';
import { events } from './sections/events.ts';
import { everyOperation } from './sections/every-operation.ts';
import { lines } from './sections/lines.ts';
import { oauth } from './sections/oauth.ts';
import { savedTexts } from './sections/saved-texts.ts';
import { sending } from './sections/sending.ts';
import { threads } from './sections/threads.ts';
import { users } from './sections/users.ts';
import { webhooks } from './sections/webhooks.ts';

/** The whole suite. */
export const cases: readonly Case[] = [
  ...sending,
  ...billing,
  ...conversations,
  ...threads,
  ...lines,
  ...savedTexts,
  ...users,
  ...calls,
  ...callSearch,
  ...webhooks,
  ...access,
  ...oauth,
  ...events,
  ...everyOperation,
];
