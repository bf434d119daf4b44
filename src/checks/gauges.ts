import { Gauge, type Registry } from '@prometheus-io/client';
import { queueNames } from '../../config/queues.ts';
import { modes } from '../ledger/limits.ts';
import { type Finding, levels } from './check.ts';
import { allChecks, known } from './checks.ts';
import type { Overview } from './overview.ts';
import { outageOf } from './postgres.ts';

/** The value of `trunkline_health_check`: from 1 for a notice to 3 for a problem. */
const severityOf = ({ level }: Pick<Finding, 'level'>) => levels.length - levels.indexOf(level);

/**
 * Creates gauges of the state that all processes share. Returns what reads them at a scrape, and never rejects: what is
 * unknown keeps its last value, and `trunkline_database_up` is 0 while Postgres can't be asked.
 */
export function createGauges(registry: Registry, takeOverview: () => Promise<Overview>): () => Promise<void> {
  const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: `trunkline_${name}`, help, labelNames, registers: [registry] });

  const databaseUp = gauge('database_up', '1 while Postgres answers. Else, the other gauges keep their last values.');
  const counts = gauge('health_checks', 'What the health checks find, without what one process sees.', ['level']);
  const check = gauge('health_check', 'Level of a check: 0 nothing, 1 notice, 2 warning, 3 problem.', ['check']);
  const targets = gauge(
    'targets',
    'Pending reads: due now, due later, of history, or of what only deliveries name (unconfirmed). Failing: the last try failed.',
    ['kind', 'state'],
  );
  const oldest = gauge('oldest_due_seconds', 'Age of the oldest due read; 0 when none is due.', ['kind']);
  const waiting = gauge('queue_waiting', 'Waiting jobs of the queue.', ['queue']);
  const unannounced = gauge('unannounced_call_share', 'Share of the last day’s calls that no webhook announced.');
  const workers = gauge('workers', 'Running workers, by RULES_MODE.', ['mode']);
  const sends = gauge('sends', 'Automatic texts of the last day, and all open ones.', ['state', 'mode']);
  const spent = gauge('sends_spent_dollars', 'Cost of the automatic texts of today (UTC).');
  const reserved = gauge('sends_reserved_dollars', 'Budget of today for texts in progress or of unknown outcome.');
  const cap = gauge('sends_cap_dollars', 'Daily budget of automatic texts.');

  function show({ backlog, completeness, findings: found, queues, sends: ledger, processes }: Overview): void {
    for (const level of levels) counts.set({ level }, found.filter((each) => each.level === level).length);
    for (const id of Object.keys(allChecks)) {
      check.set({ check: id }, Math.max(0, ...found.filter((each) => each.check === id).map(severityOf)));
    }
    for (const { kind, oldestDueSeconds, ...numbers } of known(backlog, [])) {
      for (const state of ['due', 'later', 'history', 'unconfirmed', 'failing'] as const) {
        targets.set({ kind, state }, numbers[state]);
      }
      oldest.set({ kind }, oldestDueSeconds ?? 0);
    }
    const lastDay = known(completeness)?.lastDay;
    if (lastDay) unannounced.set(lastDay.unannounced / Math.max(1, lastDay.reported));
    for (const queue of queueNames) {
      const count = known(queues)?.waiting[queue];
      if (count != null) waiting.set({ queue }, count);
    }
    if (ledger.state === 'known') {
      const { counts, today, dailyMicros } = ledger.value;
      for (const { state, count, simulated } of counts) {
        sends.set({ state, mode: 'dry-run' }, simulated);
        sends.set({ state, mode: 'live' }, count - simulated);
      }
      spent.set(today.spent / 1_000_000);
      reserved.set(today.reserved / 1_000_000);
      cap.set(dailyMicros / 1_000_000);
    }
    for (const mode of processes.state === 'known' ? modes : []) {
      workers.set({ mode }, known(processes, []).filter((each) => each.rulesMode === mode).length);
    }
  }

  return async () => {
    try {
      show(await takeOverview());
      databaseUp.set(1);
    } catch {
      databaseUp.set(0);
      const outage = outageOf('');
      check.set({ check: outage.check }, severityOf(outage));
    }
  };
}
