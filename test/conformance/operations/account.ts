import { declared, idIn as id, type Needed, nothing, type Operation } from '../operation.ts';

const callid = '1700000000.12345';
const call = ({ path }: Needed) => String(path.callid);

/** The operations of sections 4.5 to 4.7. */
export const accountOperations = {
  listUsers: {
    ...declared('users.list', '4.5', 'Users'),
    call: (service) => service.users.list(),
    succeeds: [200],
    fails: [],
    example: {},
  },
  searchCalls: {
    ...declared('calls.search', '4.6', 'Call reports'),
    call: (service, { body }) => service.calls.search(body),
    succeeds: [200],
    fails: [400],
    example: { body: { start: 1_700_000_000, end: 1_700_003_600 } },
  },
  getCall: {
    ...declared('calls.get', '4.6', 'Call reports'),
    call: (service, request) => service.calls.get(call(request)),
    succeeds: [200],
    fails: [400, 404],
    example: { path: { callid } },
  },
  listRecordings: {
    ...declared('calls.recordings', '4.6', 'Call reports, allow recordings'),
    call: (service, request) => service.calls.recordings(call(request)),
    succeeds: [200],
    fails: [400, 404],
    example: { path: { callid } },
  },
  listTranscripts: {
    ...declared('calls.transcripts', '4.6', 'Call reports, allow recordings'),
    call: (service, request) => service.calls.transcripts(call(request)),
    succeeds: [200],
    fails: [400],
    example: { path: { callid } },
  },
  listWebhooks: {
    ...declared('webhooks.list', '4.7'),
    // biome-ignore lint/suspicious/noExplicitAny: cases ask for types that there are not
    call: (service, { query }) => service.webhooks.list(query as any),
    succeeds: [200],
    fails: [400],
    example: {},
  },
  listWebhookTypes: {
    ...declared('webhooks.types', '4.7'),
    call: (service) => service.webhooks.types(),
    succeeds: [200],
    fails: [],
    example: {},
  },
  getWebhook: {
    ...declared('webhooks.get', '4.7'),
    call: (service, request) => service.webhooks.get(id(request)),
    succeeds: [200],
    fails: [404],
    example: { path: { id: nothing } },
  },
  createWebhook: {
    ...declared('webhooks.create', '4.7'),
    call: (service, { body }) => service.webhooks.create(body),
    succeeds: [201],
    fails: [400],
    example: { body: { name: 'x', url: 'https://example.com/hook', type: 'AccountSMS' } },
  },
  updateWebhook: {
    ...declared('webhooks.update', '4.7'),
    call: (service, request) => service.webhooks.update(id(request), request.body),
    succeeds: [200],
    fails: [400, 404],
    example: { path: { id: nothing }, body: { name: 'x' } },
  },
  patchWebhook: {
    section: '4.7',
    route: 'PATCH /webhooks/{id}',
    scope: 'webhooks:write',
    client: null,
    succeeds: [200],
    fails: [400, 404],
    example: { path: { id: nothing }, body: { name: 'x' } },
  },
  enableWebhook: {
    section: '4.7',
    route: 'POST /webhooks/{id}/enable',
    scope: 'webhooks:write',
    client: null,
    succeeds: [200],
    fails: [404],
    example: { path: { id: nothing } },
  },
  disableWebhook: {
    ...declared('webhooks.disable', '4.7'),
    call: (service, request) => service.webhooks.disable(id(request)),
    succeeds: [200],
    fails: [404],
    example: { path: { id: nothing } },
  },
  deleteWebhook: {
    ...declared('webhooks.remove', '4.7'),
    call: (service, request) => service.webhooks.remove(id(request)),
    succeeds: [204],
    fails: [404],
    example: { path: { id: nothing } },
  },
} satisfies Record<string, Operation>;
