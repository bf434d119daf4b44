import { queueNames } from '../../config/queues.ts';
import { targetKinds } from '../inbox/target.ts';
import { states } from '../ledger/states.ts';
import { renderColumns } from './columns.ts';
import { concernsOf, verdictOf } from './concerns.ts';
import { credentialWords } from './facts/credential.ts';
import { dollars, simulatedWords } from './page/sends.ts';
import { known, type Part, type Snapshot } from './snapshot.ts';
import { ago, quantity, span, streamNames } from './words.ts';

/** The snapshot as text for a terminal: the verdict, what to do, and the streams. */
export function renderTable(snapshot: Snapshot): string {
  const { takenAt } = snapshot;
  const head = ['stream', 'newest', 'read', 'due', 'oldest', 'later', 'history', 'failing'];
  const streams = targetKinds.map((kind) => {
    const fresh = known(snapshot.freshness, []).find((each) => each.kind === kind);
    const owed = known(snapshot.backlog, []).find((each) => each.kind === kind);
    const parked = known(snapshot.parked, []).find((each) => each.kind === kind);
    return [
      `${streamNames[kind]}${parked ? ' (parked)' : ''}`,
      fresh?.newestAt ? ago(fresh.newestAt, takenAt) : 'none',
      fresh?.readAt ? ago(fresh.readAt, takenAt) : 'never',
      owed ? quantity(owed.due) : '?',
      owed?.oldestDueSeconds ? span(owed.oldestDueSeconds) : '',
      owed ? quantity(owed.later) : '?',
      owed ? quantity(owed.history) : '?',
      owed ? quantity(owed.failing) : '?',
    ];
  });
  return [
    verdictOf(snapshot).sentence,
    ...concernsOf(snapshot).map(({ sentence, cure }) => `  - ${sentence} ${cure}`),
    '',
    renderColumns(head, streams),
    '',
    line('held', snapshot.holdings, (tables) =>
      tables
        .map(({ table, rows, isExact }) => `${isExact ? '' : '~'}${quantity(rows)} ${table.split('.')[1]}`)
        .join(', '),
    ),
    line('deliveries', snapshot.inbox, ({ types, unrecognized }) =>
      [
        ...types.map(
          ({ type, lastHour, lastDay }) => `${type ?? 'no type'} ${quantity(lastHour)}/h ${quantity(lastDay)}/d`,
        ),
        `${quantity(unrecognized.count)} not understood`,
      ].join(', '),
    ),
    line('unconfirmed', snapshot.backlog, (streams) => {
      const waiting = streams.filter(({ unconfirmed }) => unconfirmed > 0);
      const words = waiting.map(({ kind, unconfirmed }) => `${streamNames[kind]} ${quantity(unconfirmed)}`);
      return words.length === 0 ? 'nothing' : `${words.join(', ')}: only deliveries named them; they are read slowly`;
    }),
    line('compared', snapshot.completeness, ({ hours, uncompared, unprovenCount, lastDay, openGapCount }) =>
      [
        `${quantity(hours.filter(({ state }) => state === 'proven').length)} of the last ${quantity(hours.length)} hours proven`,
        ...(uncompared.days > 0 ? [`${uncompared.days} of the last ${uncompared.of} days never compared`] : []),
        ...(unprovenCount > 0 ? [`${quantity(unprovenCount)} hours differ`] : []),
        ...(lastDay.reported > 0
          ? [`${quantity(lastDay.unannounced)} of ${quantity(lastDay.reported)} calls a day unannounced`]
          : []),
        ...(openGapCount > 0 ? [`${quantity(openGapCount)} gaps under way`] : []),
      ].join(', '),
    ),
    line('processes', snapshot.processes, (processes) =>
      processes.length === 0
        ? 'none reports itself'
        : processes.map(({ role, rulesMode }) => `${role}${rulesMode === null ? '' : ` (${rulesMode})`}`).join(', '),
    ),
    line('sends', snapshot.sends, ({ control, counts, simulated, today, dailyMicros }) =>
      [
        ...(control.isPaused ? [`paused (${control.reason})`] : []),
        ...states.flatMap((state) => {
          const count = counts[state] ?? 0;
          return count === 0 ? [] : [`${state} ${quantity(count)}${simulatedWords(simulated[state], count)}`];
        }),
        `${dollars(today.spent)} of ${dollars(dailyMicros)} today`,
      ].join(', '),
    ),
    line('queue', snapshot.queues, ({ backend, isReachable, waiting }) =>
      [
        `${backend}, ${isReachable ? 'reachable' : 'away'}`,
        ...queueNames.map((name) => `${name} ${waiting[name] === null ? '?' : quantity(waiting[name])}`),
      ].join(', '),
    ),
    line('drift', snapshot.drift, ({ kinds, latest }) =>
      kinds === 0
        ? 'none'
        : `${quantity(kinds)} differences, the latest: ${latest
            .slice(0, 3)
            .map(
              ({ operation, path, what, sample, seen }) =>
                `${operation} ${path} ${what}: ${sample} (${quantity(seen)}×)`,
            )
            .join('; ')}`,
    ),
    line('credential', snapshot.credential, (facts) => credentialWords(facts, takenAt)),
    line(
      'schema',
      snapshot.schema,
      ({ newestMigration, postgres }) => `${newestMigration ?? 'none'}, Postgres ${postgres}`,
    ),
  ].join('\n');
}

function line<T>(name: string, part: Part<T>, tell: (value: T) => string): string {
  return `${name.padEnd(11)} ${part.state === 'known' ? tell(part.value) : `could not be asked: ${part.reason}`}`;
}
