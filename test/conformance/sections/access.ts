import { expect } from 'vitest';
import { type Case, cases, rows } from '../case.ts';
import type { OperationId, Request } from '../operations.ts';
import {
  type Anything,
  apiKey,
  ask,
  changeRole,
  control,
  everyRight,
  everything,
  freshNumber,
  freshPair,
  inPair,
  newKey,
  onLine,
  sandbox,
  scopes,
  send,
  token,
  told,
  under,
  userId,
  userWith,
  withSetting,
} from '../service.ts';

const denied = '403 permission_denied';
const aWeek = () => ({ body: { ...everything(), start: everything().end - 7 * 86_400 } });
const lastCall = async () => ({ path: { callid: (await sandbox.emit.call({})).id } });
const reports = { callReports: false };
const recordings = { allowRecordings: false };
const phone = { phoneNumbers: false };

/** What each operation asks of the role of an OAuth user. */
const byRole: readonly [OperationId, Partial<typeof everyRight> | { users: null }, () => Request | Promise<Request>][] =
  [
    ['listUsers', { users: null }, () => ({})],
    ['searchCalls', reports, aWeek],
    ['getCall', reports, lastCall],
    ['listRecordings', recordings, lastCall],
    ['listTranscripts', recordings, lastCall],
    ['sendMessage', phone, send()],
    ['readThread', phone, inPair()],
    ['resolveConversation', phone, inPair()],
    ['commentOnConversation', phone, inPair({ comment: 'a note' })],
    ['assignConversation', phone, inPair({ userId: null })],
    ['reopenConversation', phone, inPair()],
    ['markMessages', phone, inPair({ messageIds: [1] })],
    ['deleteMessage', phone, async () => ({ path: { ...(await freshPair()), id: 1 } })],
    ['deleteThread', phone, inPair()],
    ['blockSender', phone, onLine({ number: '12125550142' })],
    ['getBlockedSender', phone, inPair()],
    ['markLineRead', phone, onLine({})],
  ];

/** A token of a user whose role grants everything but this. */
const without = (role: object) => async () => {
  const id = await userWith('Billing manager');
  await changeRole(id, { ...everyRight, ...role });
  return token(scopes, id);
};

/** A line that the user behind `token` may not use. */
async function restrictedLine(): Promise<string> {
  const [user, lines] = [await userId(), await told('listLines')];
  return lines.find(({ userIds }: Anything) => userIds.length > 0 && !userIds.includes(user)).number;
}
const toRestricted = async () => ({ path: { line: await restrictedLine(), number: freshNumber() } });

/** Sections 5 to 5.2: credentials, scopes, roles. */
export const access: readonly Case[] = [
  ...byRole.flatMap(([operation, role, request]) =>
    rows('5.2 control', operation, {
      [`${operation} is denied to a user whose role lacks ${Object.keys(role)}`]: [request, denied, without(role)],
    }),
  ),
  ...cases('5 read', {
    async 'an API key may do all of it without any role'() {
      await told('listUsers');
      await told('listLines');
      await told('searchCalls', aWeek());
    },
  }),
  ...rows('5.1 control', 'sendMessage', {
    'a key that may write texts may not send them': [
      send(),
      '403 insufficient_scope sms:send',
      async () => (await newKey(['sms:write'])).key,
    ],
  }),
  ...rows('5.3 control', 'listUsers', {
    'an expired token is unauthenticated': [{}, '401 unauthenticated', () => token(scopes, undefined, 0)],
  }),
  ...rows('5.3 control', 'searchCalls', {
    'a token has no scope that was not granted, whatever its user may': [
      aWeek,
      '403 insufficient_scope reports:read',
      () => token(['users:read']),
    ],
  }),
  ...cases('7 control', {
    async 'a revoked key is unauthenticated from then on'() {
      const { key, name } = await newKey(scopes);
      await told('listUsers', {}, key);
      await control('DELETE', `/keys/${name}`);
      expect((await ask('listUsers', {}, key)).outcome).toBe('401 unauthenticated');
    },
    async 'a pause that is asked for is rate_limited'() {
      const pause = { kind: 'answer', status: 429, headers: { 'retry-after': '3600' } } as const;
      expect((await under(pause, () => ask('listUsers'))).outcome).toBe('429 rate_limited');
    },
  }),
  ...cases('4.1 control', {
    async 'a token sees the lines and users that its role grants, and no others'() {
      const user = await userWith('Sales manager');
      const [seen, unseen] = (await told('listUsers')).filter(({ id }: Anything) => id !== user);
      await changeRole(user, { users: [seen.id], phoneNumbers: true });
      const mine = await token(scopes, user);
      const visible = (await told('listUsers', {}, mine)).map(({ id }: Anything) => id);
      expect(visible).toContain(seen.id);
      expect(visible).not.toContain(unseen.id);

      const lines = await told('listLines');
      const granted = lines.filter(({ userIds }: Anything) => userIds.length === 0 || userIds.includes(user));
      expect(granted.length).toBeLessThan(lines.length);
      const shown = await told('listLines', {}, mine);
      expect(shown.map(({ number }: Anything) => number)).toEqual(granted.map(({ number }: Anything) => number));
    },
  }),
  ...(['readThread', 'resolveConversation', 'getBlockedSender', 'sendMessage'] as const).flatMap((operation) => {
    const request = operation === 'sendMessage' ? async () => send({ from: await restrictedLine() })() : toRestricted;
    return rows('5.2 control', operation, {
      [`${operation} is denied to a user for a line of others`]: [request, denied, () => token()],
    });
  }),
  ...cases('5.2 control', {
    async 'sensitive content keeps recordings from the account itself'() {
      const { id } = await sandbox.emit.call({ recorded: true, recordingAfterMs: 0 });
      await withSetting('sensitiveContent', async () => {
        for (const credential of [apiKey, await token()]) {
          expect((await ask('listRecordings', { path: { callid: id } }, credential)).outcome).toBe(denied);
        }
      });
    },
  }),
  ...cases('8 read', {
    async 'no answer carries headers of a rate limit'() {
      const { headers } = await ask('listLines');
      expect([...headers.keys()].filter((name) => /rate-?limit|retry-after/i.test(name))).toEqual([]);
    },
  }),
];
