import type { Read } from '../../src/api-client/answers/envelope.ts';
import { operations as clientRows } from '../../src/api-client/client.ts';

/** What is asked of an operation, apart from who asks. */
export interface Request {
  path?: Record<string, string | number> | undefined;
  query?: Record<string, string | number | boolean> | undefined;
  /** Text goes as it is. */
  body?: unknown;
}

export interface Operation {
  /** Section of the specification. */
  section: string;
  /** Method, and path below `/api/public/v1`. */
  route: string;
  scope: string;
  /** What the portal must permit an OAuth user (5.2). */
  permission: string;
  /** Name of the client's method; undefined when it has none. */
  client?: string;
  isOnce?: true;
  isBilled?: true;
  /** How the client reads the answer. */
  gives?: Read<unknown>;
  /** Statuses of success, the usual one first. */
  succeeds: readonly number[];
  /** Documented errors beside those that all operations share. */
  fails: readonly (400 | 404 | 422)[];
  /** A request that is well formed, for cases in which the request is not what matters. */
  example: Request;
  /** Answers 400 to an API key (5.3). */
  needsUser?: true;
}

type Rest = [section: string, permission: string, succeeds: number[], fails: Operation['fails'], example?: Request];

/** An operation with the client's row of it, such as `lines.list`. */
function of(client: string, ...[section, permission, succeeds, fails, example = {}]: Rest): Operation {
  const [resource = '', verb = ''] = client.split('.');
  const rows = clientRows[resource as keyof typeof clientRows] as Record<string, Pick<Operation, 'route' | 'scope'>>;
  return {
    ...(rows[verb] as Pick<Operation, 'route' | 'scope'>),
    client,
    section,
    permission,
    succeeds,
    fails,
    example,
  };
}

/** An id that nothing has: examples are also sent without credential, and must not meet anything even then. */
export const nothing = 2_147_483_647;
const pair = { line: '12125550199', number: '12125550142' };
const line = { line: pair.line };
const draftId = 'conformance';
const reply = { title: 'Thanks', body: 'Thank you.' };
const hook = { name: 'x', url: 'https://example.com/hook', type: 'AccountSMS' };
const hookId = { id: nothing };
const renamed = { path: hookId, body: { name: 'x' } };
const call = { path: { callid: '1700000000.12345' } };
const [phone, reports] = ['Phone numbers', 'Call reports'];
const recordings = `${reports}, allow recordings`;
const ofHooks = { section: '4.7', scope: 'webhooks:write', permission: '', succeeds: [200] };

/** The operations of sections 4.1 to 4.7, by the ids that the OpenAPI document gives them. */
export const operations = {
  listLines: of('lines.list', '4.1', phone, [200], []),
  sendMessage: of('messages.send', '4.1', phone, [201, 200], [400, 422], {
    body: { from: pair.line, to: [pair.number], message: 'hello' },
  }),
  readThread: of('conversations.read', '4.2', phone, [200], [400], { path: pair }),
  resolveConversation: of('conversations.resolve', '4.2', phone, [200], [400], { path: pair }),
  commentOnConversation: of('conversations.comment', '4.2', phone, [201], [400], {
    path: pair,
    body: { comment: 'a note' },
  }),
  assignConversation: of('conversations.assign', '4.2', phone, [200], [400], { path: pair, body: { userId: null } }),
  reopenConversation: of('conversations.reopen', '4.2', phone, [200], [400], { path: pair }),
  markMessages: of('conversations.markMessages', '4.2', phone, [204], [400], { path: pair, body: { messageIds: [1] } }),
  deleteMessage: of('conversations.deleteMessage', '4.2', phone, [204], [400, 404], { path: { ...pair, ...hookId } }),
  deleteThread: of('conversations.delete', '4.2', phone, [204], [400], { path: pair }),
  blockSender: of('lines.block', '4.3', phone, [201], [400], { path: line, body: { number: pair.number } }),
  getBlockedSender: of('lines.blocked', '4.3', phone, [200], [400, 404], { path: pair }),
  countUnread: of('unread.counts', '4.3', phone, [200], [400]),
  markLineRead: { ...of('lines.markRead', '4.3', phone, [204], [400], { path: line, body: {} }), needsUser: true },
  putDraft: of('drafts.put', '4.4', phone, [200], [400], { path: { draftId }, body: { message: 'hello' } }),
  deleteDraft: of('drafts.delete', '4.4', phone, [204], [400], { path: { draftId } }),
  createTemplate: { ...of('templates.create', '4.4', '', [201], [400], { body: reply }), needsUser: true },
  deleteTemplate: { ...of('templates.delete', '4.4', '', [204], [400, 404], { path: hookId }), needsUser: true },
  listUsers: of('users.list', '4.5', 'Users', [200], []),
  searchCalls: of('calls.search', '4.6', reports, [200], [400], {
    body: { start: 1_700_000_000, end: 1_700_003_600 },
  }),
  getCall: of('calls.get', '4.6', reports, [200], [400, 404], call),
  listRecordings: of('calls.recordings', '4.6', recordings, [200], [400, 404], call),
  listTranscripts: of('calls.transcripts', '4.6', recordings, [200], [400], call),
  listWebhooks: of('webhooks.list', '4.7', '', [200], [400]),
  listWebhookTypes: of('webhooks.types', '4.7', '', [200], []),
  getWebhook: of('webhooks.get', '4.7', '', [200], [404], { path: hookId }),
  createWebhook: of('webhooks.create', '4.7', '', [201], [400], { body: hook }),
  updateWebhook: of('webhooks.update', '4.7', '', [200], [400, 404], renamed),
  patchWebhook: { ...ofHooks, route: 'PATCH /webhooks/{id}', fails: [400, 404], example: renamed },
  enableWebhook: { ...ofHooks, route: 'POST /webhooks/{id}/enable', fails: [404], example: { path: hookId } },
  disableWebhook: of('webhooks.disable', '4.7', '', [200], [404], { path: hookId }),
  deleteWebhook: of('webhooks.remove', '4.7', '', [204], [404], { path: hookId }),
} satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

export const operationIds = Object.keys(operations) as OperationId[];

export function operationOf(id: OperationId): Operation & { method: string; path: string } {
  const operation: Operation = operations[id];
  const [method = '', path = ''] = operation.route.split(' ');
  return { ...operation, method, path };
}

/** The steps of OAuth (5.3), for which no scope is asked. The client has no method for them. */
export const oauthSteps = {
  discoverOAuth: 'GET /.well-known/oauth-authorization-server',
  registerClient: 'POST /api/v1/oauth/register',
  authorize: 'GET /api/v1/oauth/authorize',
  getTokens: 'POST /api/v1/oauth/token',
} as const;
