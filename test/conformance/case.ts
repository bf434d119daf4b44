import { expect } from 'vitest';
import { outcome, type Reply } from './harness/reply.ts';
import type { CaseContext, Driver, Need } from './harness/suite.ts';
import type { Request } from './operation.ts';
import type { OperationId, StepId } from './operations.ts';

/** One fact about the service, to be looked at through each driver that can express it. */
export interface Case {
  readonly name: string;
  /** Section of the specification, such as `4.2`. */
  readonly section: string;
  readonly operations: readonly (OperationId | StepId)[];
  readonly needs: Need;
  /** The one driver that can express it. */
  readonly only?: Driver;
  run(context: CaseContext): Promise<void>;
}

/** One request and what comes back for it. */
export interface Row {
  name: string;
  section: string;
  operation: OperationId;
  needs: Need;
  only?: Driver;
  request: Request | ((context: CaseContext) => Request | Promise<Request>);
  /** Who asks; without it the API key. */
  as?: (context: CaseContext) => Promise<string>;
  expect: Pick<Reply, 'status' | 'type' | 'scope' | 'data'>;
}

/** Makes a case of one request. What is expected of `data` may be a part of it. */
export function row({ operation, request, as, expect: expected, ...rest }: Row): Case {
  return {
    ...rest,
    operations: [operation],
    async run(context) {
      const credential = await as?.(context);
      const asked = typeof request === 'function' ? await request(context) : request;
      const reply = await context.ask(operation, asked, credential);
      if (expected.data === undefined) expect({ ...outcome(reply), data: undefined }).toEqual({ ...expected });
      else expect(outcome(reply)).toMatchObject(expected);
    },
  };
}

type Refused = [name: string, request: Row['request'], options?: { only?: Driver; as?: NonNullable<Row['as']> }];

/** Cases that are refused with 400 `invalid_request`, by the service and, where it can, by the client before. */
export function refusals(
  common: Pick<Row, 'section' | 'operation' | 'needs'>,
  rows: readonly Refused[],
): readonly Case[] {
  return rows.map(([name, request, options = {}]) =>
    row({ ...common, name, request, ...options, expect: { status: 400, type: 'invalid_request' } }),
  );
}
