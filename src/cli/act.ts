import type { Action, ActionDeps } from '../actions/action.ts';
import { WrongUse } from '../shared/errors.ts';
import { api, openContext, openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { type ConsentFlags, confirm, createCommandLog, operatorName } from './terminal.ts';

/** Runs an action for the words and flags of its command, after it has asked. */
export async function act(action: Action, given: ConsentFlags & { readonly by?: string }): Promise<Output> {
  const parsed = action.args.safeParse(given);
  if (!parsed.success) throw new WrongUse(parsed.error.issues.map(({ message }) => message).join(' '));
  if (action.needs === undefined) {
    await using database = await openDatabase(action.name);
    const { db, settings } = database;
    const log = createCommandLog('error');
    return await perform(action, { db, settings, log, service: undefined, notify: () => {} }, parsed.data, given);
  }
  await using context = await openContext(action.name, { needed: action.needs === 'api' ? api : [] });
  const { settings, log, service, notifier, database } = context;
  const output = await perform(
    action,
    { settings, log, service, db: database.db, notify: notifier.notify },
    parsed.data,
    given,
  );
  await notifier.idle();
  return output;
}

async function perform(
  action: Action,
  deps: ActionDeps,
  args: Readonly<Record<string, unknown>>,
  { by = operatorName(), ...flags }: ConsentFlags & { readonly by?: string },
): Promise<Output> {
  // An impossible action is refused before anybody is asked.
  const question = await action.question?.(deps, args);
  const shown = { ...args, ...question };
  if (question) {
    const preview = await confirm(flags, async () => ({ sentence: question.sentence, data: shown }));
    if (preview) return preview;
  }
  const counts = (await action.run(deps, shown, by)) ?? {};
  const words = Object.entries(counts).map(([noun, count]) => `${noun}: ${count}`);
  return {
    json: { ...args, ...counts, ...(action.isSigned && { by }), isDone: true },
    text: words.length > 0 ? `${action.done} (${words.join(', ')})` : action.done,
  };
}
