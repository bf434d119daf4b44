import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { Role } from '../../entities/access.ts';
import { type AccountSettings, defaultSettings } from '../../entities/settings.ts';
import type { Api } from '../../http/api.ts';
import { invalidRequest, notFound } from '../../http/errors.ts';
import { dataOf, idPath } from '../../http/fields.ts';

const micros = z.int().min(0).max(1_000_000_000);
const rate = z.strictObject({
  prefix: z.string().regex(/^\d{1,6}$/, 'must be the first digits of a number'),
  smsMicros: micros.describe('Micro-dollars for each segment.'),
  mmsMicros: micros.describe('Micro-dollars for a whole mms.'),
});
const settings = z.strictObject({
  restrictDeletingSms: z.boolean().describe('Deletes answer 403.'),
  sensitiveContent: z.boolean().describe('Recordings answer 403 to every credential.'),
  rates: z.array(rate).max(500).describe('A destination without one answers 422.'),
  redirectHosts: z.array(z.string().regex(/^[a-z0-9.[\]:-]{1,253}$/, 'must be a host in small letters, without port')),
  plainLoopbackRedirects: z.boolean().describe('Redirects to the loopback address may do without TLS.'),
  accessTokenSeconds: z.int().min(0).max(31_536_000).describe('Lifetime of new access tokens.'),
});

const role = z.strictObject({
  users: z
    .union([z.literal('all'), z.array(z.int()), z.null()])
    .describe('Users that this one sees, beside itself; null takes the permission away.'),
  phoneNumbers: z.boolean(),
  callReports: z.boolean(),
  allowRecordings: z.boolean().describe('Counts only together with callReports.'),
});

/** GET and PATCH /_sandbox/account, GET and PUT /_sandbox/users/{id}/role: what an owner or operator sets. */
export function accountRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  const current = (): AccountSettings => store.settings.get('account') ?? defaultSettings;

  function requireUserId(id: number): number {
    if (store.users.get(id) === undefined) throw notFound(`the user ${id}`);
    return id;
  }

  api.get(
    '/account',
    { schema: { summary: 'What owner and operator have set', response: { 200: dataOf(settings) } } },
    () => ({ data: shownSettings(current()) }),
  );

  api.patch(
    '/account',
    { schema: { summary: 'Set some of it', body: settings.partial(), response: { 200: dataOf(settings) } } },
    ({ body }) => {
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      return { data: shownSettings(store.settings.put({ ...current(), ...given })) };
    },
  );

  api.get(
    '/users/:id/role',
    {
      schema: {
        summary: 'Portal role of a user; null without portal access',
        params: idPath,
        response: { 200: dataOf(role.nullable()) },
      },
    },
    ({ params }) => {
      const held = store.roles.get(requireUserId(params.id));
      return { data: held === undefined ? null : shownRole(held) };
    },
  );

  api.put(
    '/users/:id/role',
    {
      schema: {
        summary: 'Give a user another portal role',
        params: idPath,
        body: role,
        response: { 200: dataOf(role) },
      },
    },
    ({ params, body }) => {
      const userId = requireUserId(params.id);
      if (store.users.get(userId)?.username === '') throw invalidRequest(`the user ${userId} has no portal access`);
      const visible = Array.isArray(body.users) ? body.users : [];
      const stranger = visible.find((id) => store.users.get(id) === undefined);
      if (stranger !== undefined) throw invalidRequest(`users: ${stranger} is not a user of the account`);
      return { data: shownRole(store.roles.put({ userId, ...body })) };
    },
  );
}

function shownSettings({ id: _, ...shown }: AccountSettings): z.output<typeof settings> {
  return shown;
}

function shownRole({ userId: _, ...shown }: Role): z.output<typeof role> {
  return shown;
}
