import { declared, idIn as id, type Needed, nothing, type Operation } from '../operation.ts';

const pair = { line: '12125550199', number: '12125550142' };
const at = (request: Needed) => ({ line: String(request.path.line), number: String(request.path.number) });
const line = ({ path }: Needed) => String(path.line);
const list = (text: unknown) => (text === undefined ? undefined : String(text).split(','));
const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

/** The operations of sections 4.1 to 4.4. */
export const textingOperations = {
  listLines: {
    ...declared('lines.list', '4.1', 'Phone numbers'),
    call: (service) => service.lines.list(),
    succeeds: [200],
    fails: [],
    example: {},
  },
  sendMessage: {
    ...declared('messages.send', '4.1', 'Phone numbers'),
    call: (service, { body }) => service.messages.send(body),
    succeeds: [200, 201],
    fails: [400, 422],
    example: { body: { from: pair.line, to: [pair.number], message: 'hello' } },
  },
  readThread: {
    ...declared('conversations.read', '4.2', 'Phone numbers'),
    call: (service, request) => {
      const { limit, offset, markRead, groupParticipants } = request.query;
      const page = given({
        limit: limit === undefined ? undefined : Number(limit),
        offset: offset === undefined ? undefined : Number(offset),
        markRead: markRead === true ? (true as const) : undefined,
      });
      return service.conversations.read(
        { ...at(request), ...given({ groupParticipants: list(groupParticipants) }) },
        page,
      );
    },
    succeeds: [200],
    fails: [400],
    example: { path: pair },
  },
  resolveConversation: {
    ...declared('conversations.resolve', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.resolve(at(request), request.body),
    succeeds: [200],
    fails: [400],
    example: { path: pair },
  },
  commentOnConversation: {
    ...declared('conversations.comment', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.comment(at(request), request.body.comment),
    succeeds: [201],
    fails: [400],
    example: { path: pair, body: { comment: 'a note' } },
  },
  assignConversation: {
    ...declared('conversations.assign', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.assign(at(request), request.body.userId ?? null),
    succeeds: [200],
    fails: [400],
    example: { path: pair, body: { userId: null } },
  },
  reopenConversation: {
    ...declared('conversations.reopen', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.reopen(at(request)),
    succeeds: [200],
    fails: [400],
    example: { path: pair },
  },
  markMessages: {
    ...declared('conversations.markMessages', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.markMessages(at(request), request.body),
    succeeds: [204],
    fails: [400],
    example: { path: pair, body: { messageIds: [1] } },
  },
  deleteMessage: {
    ...declared('conversations.deleteMessage', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.deleteMessage(at(request), id(request)),
    succeeds: [204],
    fails: [400, 404],
    example: { path: { ...pair, id: nothing } },
  },
  deleteThread: {
    ...declared('conversations.delete', '4.2', 'Phone numbers'),
    call: (service, request) => service.conversations.delete(at(request)),
    succeeds: [204],
    fails: [400],
    example: { path: pair },
  },
  blockSender: {
    ...declared('lines.block', '4.3', 'Phone numbers'),
    call: (service, request) => service.lines.block(line(request), request.body),
    succeeds: [201],
    fails: [400],
    example: { path: { line: pair.line }, body: { number: pair.number } },
  },
  getBlockedSender: {
    ...declared('lines.blocked', '4.3', 'Phone numbers'),
    call: (service, request) => service.lines.blocked(line(request), String(request.path.number)),
    succeeds: [200],
    fails: [400, 404],
    example: { path: pair },
  },
  countUnread: {
    ...declared('unread.counts', '4.3', 'Phone numbers'),
    call: (service, { query: { lines, since } }) =>
      service.unread.counts(given({ lines: list(lines), since: since === undefined ? undefined : String(since) })),
    succeeds: [200],
    fails: [400],
    example: {},
  },
  markLineRead: {
    ...declared('lines.markRead', '4.3', 'Phone numbers'),
    call: (service, request) => service.lines.markRead(line(request), request.body),
    succeeds: [204],
    fails: [400],
    example: { path: { line: pair.line }, body: {} },
    needsUser: true,
  },
  putDraft: {
    ...declared('drafts.put', '4.4', 'Phone numbers'),
    call: (service, { path, body }) => service.drafts.put(String(path.draftId), body.message),
    succeeds: [200],
    fails: [400],
    example: { path: { draftId: 'conformance' }, body: { message: 'hello' } },
  },
  deleteDraft: {
    ...declared('drafts.delete', '4.4', 'Phone numbers'),
    call: (service, { path }) => service.drafts.delete(String(path.draftId)),
    succeeds: [204],
    fails: [400],
    example: { path: { draftId: 'conformance' } },
  },
  createTemplate: {
    ...declared('templates.create', '4.4'),
    call: (service, { body }) => service.templates.create(body),
    succeeds: [201],
    fails: [400],
    example: { body: { title: 'Thanks', body: 'Thank you.' } },
    needsUser: true,
  },
  deleteTemplate: {
    ...declared('templates.delete', '4.4'),
    call: (service, request) => service.templates.delete(id(request)),
    succeeds: [204],
    fails: [400, 404],
    example: { path: { id: nothing } },
    needsUser: true,
  },
} satisfies Record<string, Operation>;
