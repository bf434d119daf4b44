import { queueNames } from '../../config/queues.ts';
import { adviceOf } from '../checks/check.ts';
import { DatabaseUnavailable, known, type Part } from '../checks/checks.ts';
import { type Overview, statusJson, takeOverview, verdictOf } from '../checks/overview.ts';
import { readFirst } from '../completeness/first-backfill.ts';
import { createContext, readySettings } from '../context.ts';
import { kindNames, targetKinds } from '../inbox/targets.ts';
import { countWords } from '../ledger/words.ts';
import { findRunning } from '../local/data-folder.ts';
import { signInLink } from '../server/auth.ts';
import { UserError } from '../shared/errors.ts';
import { ago, dollars, duration, quantity } from '../shared/format.ts';
import { commandSettings } from './environment.ts';
import { labelled, type Output, renderColumns } from './output.ts';
import { createCommandLog } from './terminal.ts';

/** The overview of the status page. Exit code 1 while the operator has to act, as for `doctor`. */
export async function showStatus(): Promise<Output> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  await using context = await createContext(readySettings(settings), {
    log: createCommandLog('error'),
    name: 'status',
    maxConnections: 2,
    isReadOnly: true,
  });
  const overview = await takeOverview(context).catch((error: unknown) => {
    throw error instanceof DatabaseUnavailable ? new UserError(error.message) : error;
  });
  const running = await findRunning(settings.dataDir);
  const isOurs = running?.environment.DATABASE_URL === settings.databaseUrl;
  const link = running && isOurs ? `\n\nstatus page  ${signInLink(running.statusUrl, running.adminToken)}` : '';
  return {
    json: statusJson(overview),
    text: renderTable(overview) + link,
    failed: verdictOf(overview).level !== 'ok',
  };
}

/** The overview as text for a terminal: the verdict, what to do, and the kinds. */
export function renderTable(overview: Overview): string {
  const { takenAt, findings } = overview;
  const { level, sentence } = verdictOf(overview);
  const remedies = level === 'ok' ? [] : findings.slice(0, 1).map((worst) => labelled('   ', adviceOf(worst)));
  const counts = ['due', 'later', 'history', 'unconfirmed', 'failing'] as const;
  const rows = targetKinds.map((kind) => {
    const fresh = known(overview.freshness, []).find((each) => each.kind === kind);
    const backlog = known(overview.backlog, []).find((each) => each.kind === kind);
    return [
      `${kindNames[kind]}${backlog?.isParked ? ' (parked)' : ''}`,
      fresh?.newestAt ? ago(fresh.newestAt, takenAt) : 'none',
      fresh?.readAt ? ago(fresh.readAt, takenAt) : 'never',
      backlog?.oldestDueSeconds ? duration(backlog.oldestDueSeconds) : '',
      ...counts.map((count) => (backlog ? quantity(backlog[count]) : '?')),
    ];
  });
  return [
    sentence,
    ...remedies,
    ...findings.slice(remedies.length).map((each) => labelled('  -', `${each.sentence} ${adviceOf(each)}`)),
    '',
    renderColumns(['kind', 'newest', 'read', 'oldest due', ...counts], rows),
    '',
    line('held', overview.holdings, (tables) =>
      tables.map(({ table, rows, isExact }) => `${isExact ? '' : '~'}${quantity(rows)} ${table.split('.')[1]}`),
    ),
    line('deliveries', overview.inbox, ({ types }) =>
      types.map((of) => `${of.type ?? 'no type'} ${quantity(of.lastHour)}/h ${quantity(of.lastDay)}/d`),
    ),
    line('compared', overview.completeness, ({ hours, lastDay, isFillingIn }) => [
      `${quantity(hours.proven)} of the last ${quantity(hours.all)} hours proven`,
      lastDay.reported > 0 &&
        `${quantity(lastDay.unannounced)} of ${quantity(lastDay.reported)} calls a day unannounced`,
      isFillingIn && `history is coming in: ${readFirst}`,
    ]),
    line('processes', overview.processes, (processes) =>
      processes.map(({ role, rulesMode }) => (rulesMode === null ? role : `${role} (${rulesMode})`)),
    ),
    line('sends', overview.sends, ({ counts, today, dailyMicros }) => [
      ...countWords(counts).map(({ name, words }) => `${name} ${words}`),
      `${dollars(today.spent)} of ${dollars(dailyMicros)} today`,
    ]),
    line('queue', overview.queues, ({ backend, isReachable, waiting }) => [
      `${backend}, ${isReachable ? 'reachable' : 'unreachable'}`,
      ...queueNames.map((name) => `${name} ${waiting[name] == null ? '?' : quantity(waiting[name])}`),
    ]),
    line('schema', overview.schema, ({ newestMigration, postgres }) => [newestMigration, `Postgres ${postgres}`]),
  ].join('\n');
}

function line<T>(name: string, part: Part<T>, wordsOf: (value: T) => readonly (string | false | null)[]): string {
  const words = part.state === 'known' ? wordsOf(part.value) : [`could not be read: ${part.reason}`];
  return labelled(name.padEnd(11), words.filter((each) => each !== false && each !== null).join(', ') || 'none');
}
