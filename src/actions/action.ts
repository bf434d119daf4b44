import * as z from 'zod';
import type { Settings } from '../../config/settings.ts';
import type { Service } from '../api-client/client.ts';
import type { InboxDeps } from '../inbox/stored-deliveries.ts';
import type { Log } from '../shared/log.ts';

/** What actions work with. */
export interface ActionDeps extends InboxDeps {
  readonly settings: Settings;
  readonly service: Service | undefined;
  readonly log: Log;
}

/** What a command asks before it acts. */
export interface Question {
  /** What would happen. */
  readonly sentence: string;
  /** Identifies what was shown, as a further argument: the action is refused if that has changed since. */
  readonly seen?: string;
}

/** Something that an operator can ask for. Its command and the address that pages post to are derived from it. */
export interface Action<Args extends z.ZodObject = z.ZodObject> {
  /** `sends approve`: the command. With a slash, the end of the address. */
  readonly name: string;
  /** A line for the help. */
  readonly help: string;
  readonly args: Args;
  /**
   * The arguments that the command takes without a flag: `<id>`, or `[why...]`. Others with a description are flags.
   */
  readonly words?: string;
  /** What the command opens beside the database. A kill switch must not need more. */
  readonly needs?: 'queues' | 'api';
  /** Whether it records who asked for it. */
  readonly isSigned?: boolean;
  question?(deps: ActionDeps, args: z.output<Args>): Promise<Question>;
  /** Returns what it counted, if anything. Throws a `UserError` if it refuses, and then has done nothing. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most count nothing
  run(deps: ActionDeps, args: z.output<Args>, by: string): Promise<Readonly<Record<string, number>> | void>;
  /** Said afterwards. */
  readonly done: string;
  /** The page that shows what came of it. */
  page(args: z.output<Args>): string;
}

/** An argument that counts from 1. `words` refuse everything else. */
export const wholeNumber = (words: string) => z.coerce.number(words).int(words).positive(words);

/** How long a reason may be, and what refuses a longer one. */
export const longestReason = [500, 'The reason has more than 500 characters.'] as const;

export function action<Args extends z.ZodObject, const Name extends string>(
  declared: Action<Args> & { readonly name: Name },
): Action & { readonly name: Name } {
  return declared;
}
