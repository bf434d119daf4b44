import { Gauge, type Registry } from '@prometheus-io/client';
import { queueNames } from '../../config/queues.ts';
import { states } from '../ledger/send.ts';
import { checkNames } from './health-checks/check.ts';
import { healthChecks, unanswered } from './health-checks.ts';
import { known, type Snapshot } from './snapshot.ts';

/** Gauges of the state that all processes share, read from the snapshot at each scrape: all processes report the same. */
export interface Gauges {
  /** Never rejects: unavailable gauges keep their last value, and `trunkline_database_up` or `trunkline_queue_up` is 0. */
  refresh(): Promise<void>;
}

const levels = ['notice', 'warning', 'problem'] as const;

export function createGauges(registry: Registry, takeSnapshot: () => Promise<Snapshot>): Gauges {
  const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: `trunkline_${name}`, help, labelNames, registers: [registry] });

  const databaseUp = gauge(
    'database_up',
    '1 while Postgres answers; otherwise the other gauges keep their last values.',
  );
  const queueUp = gauge('queue_up', '1 while the queue store answers.');
  const checks = gauge(
    'health_checks',
    'Problems, warnings and notices of the status page, without those that only one process sees.',
    ['level'],
  );
  const check = gauge(
    'health_check',
    'The level of each health check: 0 when it finds nothing, 1 for a notice, 2 for a warning, 3 for a problem.',
    ['check'],
  );
  const targets = gauge(
    'targets',
    'Pending targets: due now, due later, history, unconfirmed (known only from deliveries); failing counts those whose last read failed.',
    ['kind', 'state'],
  );
  const oldest = gauge('oldest_due_seconds', 'Age of the oldest due read in seconds; 0 when none is due.', ['kind']);
  const parked = gauge('stream_parked', '1 while the service refuses the credential to read the stream.', ['kind']);
  const waiting = gauge('queue_waiting', 'Waiting jobs of the queue.', ['queue']);
  const unannounced = gauge(
    'unannounced_call_share',
    'Share of the calls of the last day that no webhook announced, from 0 to 1.',
  );
  const unproven = gauge(
    'unproven_hours',
    'Hours of call history that were compared with the service but are not proven complete.',
  );
  const missingTexts = gauge(
    'missing_unread_texts',
    'Unread texts, over all lines, that the service counts but the mirror lacks.',
  );
  const apiWaiting = gauge(
    'api_waiting_seconds',
    'How long the oldest unanswered request to the service has waited, over all processes, in seconds; 0 without one.',
  );
  const apiUp = gauge(
    'api_up',
    '0 while some process waits too long for an answer of the service, or holds requests back because it fails.',
  );
  const credential = gauge(
    'credential',
    '1 for the state of the credential of this process: `api_key`, `login`, `login_lost` (log in again) or `none`.',
    ['state'],
  );
  const coverageAge = gauge(
    'coverage_age_seconds',
    'Seconds since the end of the newest hour of call history that is proven complete; absent before the first.',
  );
  const reportsBehind = gauge(
    'reports_behind_seconds',
    'Age of the oldest change that the reports do not show yet, in seconds; 0 when they show all.',
  );
  const reportsSetAside = gauge(
    'reports_set_aside',
    'Changes that could not be worked into the reports; they are retried.',
  );
  const gaps = gauge('open_gaps', 'Possible gaps: times in which something may be missing and is searched for.');
  const drift = gauge('drift_kinds', 'Known differences between the answers of the service and its specification.');
  const processesOf = gauge('processes', 'Running processes by role; `start` is both web and worker.', ['role']);
  const workers = gauge('workers', 'Running worker processes, by RULES_MODE.', ['mode']);
  const sends = gauge(
    'sends',
    'Automatic texts of the last day, and all open ones. Those in dry-run mode are never sent.',
    ['state', 'mode'],
  );
  const troubles = gauge(
    'send_troubles',
    'Live automatic texts of the last day that were refused or are waiting, by reason.',
    ['kind', 'reason'],
  );
  const paused = gauge('sends_paused', '1 while all automatic texts are paused.');
  const spent = gauge('sends_spent_dollars', 'Cost of the automatic texts of today (UTC), in dollars.');
  const reserved = gauge(
    'sends_reserved_dollars',
    'Budget reserved today for automatic texts in progress or of unknown outcome, in dollars.',
  );
  const cap = gauge('sends_cap_dollars', 'Daily budget of automatic texts, in dollars.');
  const runs = gauge('rule_runs', 'Evaluations of rules today (the local day of the reports).', ['rule', 'outcome']);
  const actions = gauge('rule_actions', 'Actions of rules in the last day.', ['kind', 'state']);

  function show(snapshot: Snapshot): void {
    // Without what only this process knows: it has gauges of its own.
    const found = healthChecks({ ...snapshot, circuit: undefined, isRefusing: false });
    for (const level of levels) checks.set({ level }, found.filter((each) => each.level === level).length);
    for (const name of checkNames) {
      check.set(
        { check: name },
        Math.max(0, ...found.map((each) => (each.check === name ? 1 + levels.indexOf(each.level) : 0))),
      );
    }
    showReads(snapshot);
    showQueues(snapshot);
    showSends(snapshot);
    showProcesses(snapshot);
    showService(snapshot);
    showReports(snapshot);
  }

  function showReports({ takenAt, reporting }: Snapshot): void {
    if (reporting.state === 'unknown') return;
    const { behindSince, setAside } = reporting.value;
    reportsBehind.set(behindSince === null ? 0 : Math.max(0, (Number(takenAt) - Number(behindSince)) / 1_000));
    reportsSetAside.set(setAside.count);
  }

  function showReads({ takenAt, backlog, parked: streams, completeness }: Snapshot): void {
    for (const { kind, due, later, history, unconfirmed, failing, oldestDueSeconds } of known(backlog, [])) {
      targets.set({ kind, state: 'due' }, due);
      targets.set({ kind, state: 'later' }, later);
      targets.set({ kind, state: 'history' }, history);
      targets.set({ kind, state: 'unconfirmed' }, unconfirmed);
      targets.set({ kind, state: 'failing' }, failing);
      oldest.set({ kind }, oldestDueSeconds ?? 0);
      parked.set({ kind }, known(streams, []).some((stream) => stream.kind === kind) ? 1 : 0);
    }
    if (completeness.state === 'unknown') return;
    const { lastDay, provenUntil, unprovenCount, openGapCount, lines } = completeness.value;
    if (provenUntil !== null) coverageAge.set((Number(takenAt) - Number(provenUntil)) / 1_000);
    gaps.set(openGapCount);
    unannounced.set(lastDay.reported > 0 ? lastDay.unannounced / lastDay.reported : 0);
    unproven.set(unprovenCount);
    missingTexts.set(lines.reduce((sum, { missing }) => sum + missing, 0));
  }

  function showQueues({ queues }: Snapshot): void {
    const status = known(queues, undefined);
    queueUp.set(status?.isReachable ? 1 : 0);
    for (const queue of queueNames) {
      const count = status?.waiting[queue] ?? null;
      if (count !== null) waiting.set({ queue }, count);
    }
  }

  function showSends({ sends: ledger, rules }: Snapshot): void {
    if (ledger.state === 'known') {
      const { control, counts, simulated, today, dailyMicros } = ledger.value;
      for (const state of states) {
        const ofDryRun = simulated[state] ?? 0;
        sends.set({ state, mode: 'dry-run' }, ofDryRun);
        sends.set({ state, mode: 'live' }, (counts[state] ?? 0) - ofDryRun);
      }
      troubles.reset();
      for (const { kind, reason, count } of ledger.value.troubles) troubles.set({ kind, reason }, count);
      paused.set(control.isPaused ? 1 : 0);
      spent.set(today.spent / 1_000_000);
      reserved.set(today.reserved / 1_000_000);
      cap.set(dailyMicros / 1_000_000);
    }
    if (rules.state === 'unknown') return;
    runs.reset();
    actions.reset();
    for (const { rule, tried, matched, failed } of rules.value?.today ?? []) {
      runs.set({ rule, outcome: 'matched' }, matched);
      runs.set({ rule, outcome: 'failed' }, failed);
      runs.set({ rule, outcome: 'not_matched' }, tried - matched - failed);
    }
    for (const { kind, state, count } of rules.value?.actions ?? []) actions.set({ kind, state }, count);
  }

  function showService({ credential: status, drift: differences }: Snapshot): void {
    if (differences.state === 'known') drift.set(differences.value.kinds);
    if (status.state === 'unknown') return;
    const { use } = status.value;
    const present = use === 'login' && status.value.state === 'lost' ? 'login_lost' : use;
    for (const state of ['api_key', 'login', 'login_lost', 'none'] as const) {
      credential.set({ state }, state === present ? 1 : 0);
    }
  }

  function showProcesses({ processes }: Snapshot): void {
    if (processes.state === 'unknown') return;
    const isFailing = processes.value.some(({ failingSeconds }) => failingSeconds !== null);
    apiUp.set(isFailing || unanswered(processes.value) ? 0 : 1);
    for (const role of ['web', 'worker', 'start'] as const) {
      processesOf.set({ role }, processes.value.filter((each) => each.role === role).length);
    }
    apiWaiting.set(Math.max(0, ...processes.value.map(({ waitingSeconds }) => waitingSeconds ?? 0)));
    for (const mode of ['off', 'dry-run', 'live'] as const) {
      workers.set({ mode }, processes.value.filter((each) => each.rulesMode === mode).length);
    }
  }

  return {
    async refresh() {
      try {
        show(await takeSnapshot());
        databaseUp.set(1);
      } catch {
        databaseUp.set(0);
        check.set({ check: 'database_unavailable' }, 1 + levels.indexOf('problem'));
      }
    },
  };
}
