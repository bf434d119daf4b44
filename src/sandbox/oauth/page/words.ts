import type { Scope } from '../../entities/access.ts';

/** What a scope lets a program do, as the consent page tells it (5.1, with the portal permission of 5.2). */
export const scopeWords: Record<Scope, { does: string; note?: string; permission?: string; isGrave?: true }> = {
  'webhooks:read': { does: 'See webhook subscriptions' },
  'webhooks:write': { does: 'Change webhook subscriptions', note: 'Create, update, delete, enable and disable.' },
  'reports:read': { does: 'Read the call history', permission: 'Call reports' },
  'users:read': { does: 'See the users of the account', note: 'Personal data.', permission: 'Users' },
  'sms:read': { does: 'See the lines that can text, and blocked senders', permission: 'Phone numbers' },
  'sms:write': {
    does: 'Manage conversations',
    note: 'Resolve, reopen, assign, comment, block, drafts and saved replies. Cannot send.',
    permission: 'Phone numbers',
  },
  'sms:send': { does: 'Send texts and pictures', note: 'Spends money.', permission: 'Phone numbers', isGrave: true },
  'recordings:read': {
    does: 'Hear recordings and read transcripts of calls',
    permission: 'Call reports, allow recordings',
  },
  'messages:read': { does: 'Read texts and unread counts', permission: 'Phone numbers' },
  'messages:write': {
    does: 'Mark texts read, and delete them',
    note: 'Deleting is for good.',
    permission: 'Phone numbers',
    isGrave: true,
  },
};
