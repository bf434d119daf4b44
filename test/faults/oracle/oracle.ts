import { expect, vi } from 'vitest';
import type { Deployment } from '../deployment/deployment.ts';
import { deliveryKey, tally } from '../load/keys.ts';
import type { Load } from '../load/load.ts';
import { callDifferences } from './calls.ts';
import { doubledRows } from './doubles.ts';
import { leaks } from './leaks.ts';
import { threadDifferences } from './threads.ts';

/** What a load left behind that is to be checked. */
export type Evidence = Pick<Load, 'threads' | 'callIds' | 'accepted'>;

/** The longest that the daemon may take to catch up: a killed worker's turns are only missed when their lock is over. */
const settleLimit = 70_000;
const lastWords = 1_500;
const mostShown = 10;

/**
 * The one oracle, after the dust settles: every delivery that was answered 2xx is in the inbox, all that it points at
 * is in the warehouse as the service shows it now, no row stands twice, and nothing secret stands where others look.
 */
export async function expectNothingLost(deployment: Deployment, evidence: Evidence): Promise<void> {
  const unsettled = await unsettledAtLast(deployment, evidence);
  expect({
    endedByThemselves: endedParts(deployment),
    unsettled,
    missingInInbox: await missingDeliveries(deployment, evidence),
    doubled: await doubledRows(deployment.database),
    leaked: await leaks(deployment),
  }).toEqual({ endedByThemselves: [], unsettled: [], missingInInbox: [], doubled: [], leaked: [] });
}

/** Waits until nothing is owed and the mirror equals the service; else says what still stands between them. */
async function unsettledAtLast(deployment: Deployment, evidence: Evidence): Promise<string[]> {
  let unsettled: string[] = [];
  const isSettled = async () => {
    unsettled = await owedTargets(deployment);
    if (unsettled.length === 0) unsettled = await mirrorDifferences(deployment, evidence);
    return unsettled.length === 0 || endedParts(deployment).length > 0;
  };
  await vi.waitUntil(isSettled, { timeout: settleLimit, interval: 300 }).catch(() => undefined);
  return unsettled.slice(0, mostShown);
}

/** What is due and was not read, and how it stands. */
async function owedTargets({ database }: Deployment): Promise<string[]> {
  const { rows } = await database.query<{ owed: string }>(
    `select format('%s %s is owed since %s, attempts %s, %s', kind, key, due_at, attempts, last_error) as owed
     from ops.sync_targets where dirty_version > clean_version and due_at <= now() + interval '1 second'`,
  );
  return rows.map(({ owed }) => owed);
}

/** Processes that are not there, with their last words. */
function endedParts({ webs, workers }: Deployment): string[] {
  return [...webs, ...workers]
    .filter(({ isRunning }) => !isRunning)
    .map(({ name, output }) => `${name}: …${output.slice(-lastWords)}`);
}

async function mirrorDifferences(deployment: Deployment, { threads, callIds }: Evidence): Promise<string[]> {
  const { database, service } = deployment;
  const found: string[] = [];
  for (const thread of threads) found.push(...(await threadDifferences(database, service, thread)));
  for (const callId of callIds) found.push(...(await callDifferences(database, service, callId)));
  return found;
}

async function missingDeliveries({ database }: Deployment, evidence: Evidence): Promise<string[]> {
  const { rows } = await database.query<{ event_type: string; body: string }>(
    'select event_type, body from ops.deliveries where is_recognized',
  );
  const stored = tally(rows.map(({ event_type, body }) => deliveryKey(event_type, body)));
  return [...tally(await evidence.accepted())].flatMap(([key, count]) => {
    const held = stored.get(key) ?? 0;
    return held >= count ? [] : [`${key}: stored ${held} of ${count} times`];
  });
}
