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
  const { takenAt } = overview;
  const { level, sentence } = verdictOf(overview);
  const checks = overview.findings;
  const remedies = level === 'ok' ? [] : checks.slice(0, 1).map((worst) => labelled('   ', adviceOf(worst)));
  const head = ['kind', 'newest', 'read', 'due', 'oldest', 'later', 'history', 'failing'];
  const rows = targetKinds.map((kind) => {
    const fresh = known(overview.freshness, []).find((each) => each.kind === kind);
    const backlog = known(overview.backlog, []).find((each) => each.kind === kind);
    const parked = known(overview.parked, []).find((each) => each.kind === kind);
    return [
      `${kindNames[kind]}${parked ? ' (parked)' : ''}`,
      fresh?.newestAt ? ago(fresh.newestAt, takenAt) : 'none',
      fresh?.readAt ? ago(fresh.readAt, takenAt) : 'never',
      backlog ? quantity(backlog.due) : '?',
      backlog?.oldestDueSeconds ? duration(backlog.oldestDueSeconds) : '',
      backlog ? quantity(backlog.later) : '?',
      backlog ? quantity(backlog.history) : '?',
      backlog ? quantity(backlog.failing) : '?',
    ];
  });
  return [
    sentence,
    ...remedies,
    ...checks.slice(remedies.length).map((each) => labelled('  -', `${each.sentence} ${adviceOf(each)}`)),
    '',
    renderColumns(head, rows),
    '',
    line('held', overview.holdings, (tables) =>
      tables
        .map(({ table, rows, isExact }) => `${isExact ? '' : '~'}${quantity(rows)} ${table.split('.')[1]}`)
        .join(', '),
    ),
    line('deliveries', overview.inbox, ({ types, unrecognized }) =>
      [
        ...types.map(
          ({ type, lastHour, lastDay }) => `${type ?? 'no type'} ${quantity(lastHour)}/h ${quantity(lastDay)}/d`,
        ),
        `${quantity(unrecognized.count)} not recognized`,
      ].join(', '),
    ),
    line('unconfirmed', overview.backlog, (kinds) => {
      const waiting = kinds.filter(({ unconfirmed }) => unconfirmed > 0);
      const words = waiting.map(({ kind, unconfirmed }) => `${kindNames[kind]} ${quantity(unconfirmed)}`);
      return words.length === 0 ? 'nothing' : `${words.join(', ')}: known only from deliveries, read at a low rate`;
    }),
    line('compared', overview.completeness, ({ hours, lastDay, openGapCount, isFillingIn }) =>
      [
        `${quantity(hours.filter(({ state }) => state === 'proven').length)} of the last ${quantity(hours.length)} hours proven`,
        lastDay.reported > 0 &&
          `${quantity(lastDay.unannounced)} of ${quantity(lastDay.reported)} calls a day unannounced`,
        openGapCount > 0 && `${quantity(openGapCount)} open gaps`,
        isFillingIn && `history is coming in: ${readFirst}`,
      ]
        .filter((each) => each !== false)
        .join(', '),
    ),
    line('processes', overview.processes, (processes) =>
      processes.length === 0
        ? 'none running'
        : processes.map(({ role, rulesMode }) => `${role}${rulesMode === null ? '' : ` (${rulesMode})`}`).join(', '),
    ),
    line('alerts', overview.alerts, ({ open }) =>
      open.length === 0
        ? 'none open'
        : open.map(({ check, since }) => `${check} since ${ago(since, takenAt)}`).join(', '),
    ),
    line('sends', overview.sends, ({ control, counts, simulated, today, dailyMicros, passedCount }) =>
      [
        ...(control.isPaused ? [`paused (${control.reason})`] : []),
        ...countWords(counts, simulated, passedCount).map(({ name, words }) => `${name} ${words}`),
        `${dollars(today.spent)} of ${dollars(dailyMicros)} today`,
      ].join(', '),
    ),
    line('queue', overview.queues, ({ backend, isReachable, waiting }) =>
      [
        `${backend}, ${isReachable ? 'reachable' : 'unreachable'}`,
        ...queueNames.map((name) => `${name} ${waiting[name] == null ? '?' : quantity(waiting[name])}`),
      ].join(', '),
    ),
    line(
      'schema',
      overview.schema,
      ({ newestMigration, postgres }) => `${newestMigration ?? 'none'}, Postgres ${postgres}`,
    ),
  ].join('\n');
}

function line<T>(name: string, part: Part<T>, describe: (value: T) => string): string {
  return labelled(name.padEnd(11), part.state === 'known' ? describe(part.value) : `could not be read: ${part.reason}`);
}
