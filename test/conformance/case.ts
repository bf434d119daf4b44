import { expect } from 'vitest';
import type { OperationId, Request } from './operations.ts';
import { ask, type Need, token } from './service.ts';

/** One fact about the service. */
export interface Case {
  readonly name: string;
  /** Section of the specification, such as `4.2`. */
  readonly section: string;
  readonly needs: Need;
  run(): Promise<void>;
}

/** Section and need of cases, such as `4.2 read`. */
type At = `${string} ${Need}`;

/** A fact by each name. */
export function cases(at: At, looks: Record<string, () => Promise<void>>): Case[] {
  const [section, needs] = at.split(' ') as [string, Need];
  return Object.entries(looks).map(([name, run]) => ({ name, section, needs, run }));
}

type Made<T> = T | (() => T | Promise<T>);
type As = () => Promise<string>;

/** What comes back: an outcome such as `404 not_found`, or a status with a part of the data. */
type Answer = string | [status: number, data: object];

/** An operation, asked with the API key or with the token of a user who may do everything. */
type Asking = OperationId | `${OperationId} as user`;

/** One request by each name, and what comes back for it; the third is who asks instead. */
export function rows(
  at: At,
  asking: Asking,
  table: Record<string, [request: Made<Request>, answer: Answer, as?: As]>,
): Case[] {
  const [operation, asUser] = asking.split(/ (?=as user)/) as [OperationId, string?];
  return Object.entries(table).flatMap(([name, [request, answer, as = asUser && token]]) =>
    cases(at, {
      async [name]() {
        const credential = as ? await as() : undefined;
        const reply = await ask(operation, typeof request === 'function' ? await request() : request, credential);
        const [expected, data] = typeof answer === 'string' ? [answer] : [String(answer[0]), answer[1]];
        expect(reply.outcome).toBe(expected);
        if (data !== undefined) expect(reply.data).toMatchObject(data);
      },
    }),
  );
}

/** Requests that are refused with 400 `invalid_request`. */
export function refusals(at: At, asking: Asking, requests: Record<string, Made<Request>>): Case[] {
  return Object.entries(requests).flatMap(([name, request]) =>
    rows(at, asking, { [name]: [request, '400 invalid_request'] }),
  );
}
