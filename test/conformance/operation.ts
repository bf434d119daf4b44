import { type Answer, operations, type Service } from '../../src/api-client/client.ts';

/** What is asked of an operation, apart from who asks. */
export interface Request {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean>;
  // Cases send what they please; what becomes of it is what they check.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body?: any;
}

/** What the client's table says of an operation. */
interface Declared {
  /** Section of the specification. */
  section: string;
  /** Method, and path below `/api/public/v1`. */
  route: string;
  scope: string;
  permission?: string | undefined;
  isOnce?: true | undefined;
  isBilled?: true | undefined;
  /** Name of the client's method; null when it has none. */
  client: string | null;
}

export interface Operation extends Declared {
  /** Asks through the client. */
  call?: (service: Service, request: Needed) => Promise<Answer<unknown>>;
  /** Statuses of success. */
  succeeds: readonly number[];
  /** Documented errors beside those that all operations share. */
  fails: readonly (400 | 404 | 422)[];
  /** A request that is well formed, for cases in which the request is not what matters. */
  example: Request;
  /** Answers 400 to an API key (5.3). */
  needsUser?: true;
}

export type Needed = Required<Request>;

type InTable = Pick<Declared, 'route' | 'scope' | 'isOnce' | 'isBilled'>;

/** The row of the client's table for a method, such as `lines.list`, with its section and what the portal must permit an OAuth user (5.2). */
export function declared(client: string, section: string, permission?: string): Declared {
  const [resource = '', verb = ''] = client.split('.');
  const rows = operations[resource as keyof typeof operations] as Record<string, InTable>;
  const { route, scope, isOnce, isBilled } = rows[verb] as InTable;
  return { section, route, scope, permission, isOnce, isBilled, client };
}

/** An id that nothing has: examples are also sent without credential, and must not meet anything even then. */
export const nothing = 2_147_483_647;

/** The id in a path. */
export const idIn = ({ path }: Needed): number => Number(path.id);
