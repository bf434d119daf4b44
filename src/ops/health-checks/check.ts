import { toType } from '../../shared/command-name.ts';

/** The ids of all checks: alerts and metrics are told apart by them, so they stay the same across releases. */
export const checkNames = [
  'account_shared',
  'account_unrecognized',
  'action_failed',
  'action_unclear',
  'alerts_undelivered',
  'answers_partial',
  'connections_short',
  'coverage_late',
  'coverage_unproven',
  'credential_refused',
  'database_read_only',
  'database_unavailable',
  'deliveries_refused',
  'deliveries_unrecognized',
  'disk_full',
  'disk_low',
  'gap_open',
  'history_uncompared',
  'keys_differ',
  'lock_waited',
  'migrations_missing',
  'mirror_behind',
  'opt_outs_waiting',
  'queue_unreachable',
  'queue_settings',
  'reads_failing',
  'reads_forbidden',
  'reads_waiting',
  'receivers_differ',
  'reports_incomplete',
  'reports_late',
  'reports_stale',
  'rules_differ',
  'reports_undated',
  'rules_failed',
  'rules_file',
  'rules_mode',
  'rules_time_zone',
  'scope_missing',
  'sends_expired',
  'sends_near_cap',
  'sends_over_budget',
  'sends_paused',
  'sends_refused',
  'sends_review',
  'sends_unknown',
  'sends_waiting',
  'service_failing',
  'service_silent',
  'status_unknown',
  'subscription_broken',
  'texts_missing',
  'transaction_open',
  'views_stale',
  'web_missing',
  'work_set_aside',
] as const;

export type CheckName = (typeof checkNames)[number];

/** A problem, warning or notice for the operator, with its remedy. */
export interface HealthCheck {
  readonly check: CheckName;
  /**
   * problem: data is missing or at risk, or sends do not leave. warning: needs attention. notice: for information; it affects
   * neither the verdict nor an exit code.
   */
  readonly level: 'problem' | 'warning' | 'notice';
  readonly sentence: string;
  readonly remedy: string;
  /** Since when it is known to be so. */
  readonly since?: Date;
  /** What an alert says instead, where the texts above quote others or name a line: alerts leave the house. */
  readonly alert?: { readonly sentence?: string; readonly remedy?: string };
}

/** The refused party by credential, and its remedy: an API key has no user whose role could be changed. */
export const bearers = {
  api_key: { name: 'The API key', remedy: 'Give it the permission in the portal, or set API_KEY to one that has it' },
  login: {
    name: 'The role of the logged-in user',
    remedy: `Give it the permission in the portal, or log in as a user who has it (${toType('auth login')})`,
  },
  none: { name: 'The credential of the worker', remedy: 'Give it the permission in the portal' },
} as const;

export type Bearer = keyof typeof bearers;
