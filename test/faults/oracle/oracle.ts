import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Deployment } from '../deployment/deployment.ts';
import { deliveryKey, tally } from '../load/keys.ts';
import type { Load } from '../load/load.ts';
import { callDifferences } from './calls.ts';
import { doubledRows } from './doubles.ts';
import { leaks } from './leaks.ts';
import { sendDifferences } from './sends.ts';
import { threadDifferences } from './threads.ts';

/** What a load left behind that is to be checked. */
export type Evidence = Pick<Load, 'threads' | 'callIds' | 'accepted'>;

/** The longest that the daemon may take without coming nearer: a killed worker's turns are only missed when their lock is over. */
const settleLimit = 70_000;
const pause = 300;
const looksAtOnce = 8;
const lastWords = 1_500;
const maxShown = 10;

/**
 * The one oracle, after the dust settles: every delivery that was answered 2xx is in the inbox, all that it points at
 * is in the warehouse as the service shows it now (A), no row stands twice (B), nothing was sent that the ledger does not
 * account for (C, D), and nothing secret stands where others look (E). `patience`, in milliseconds, is how long the daemon
 * may take without coming nearer.
 */
export async function expectNothingLost(
  deployment: Deployment,
  evidence: Evidence,
  patience: number = settleLimit,
): Promise<void> {
  const unsettled = await unsettledAtLast(deployment, evidence, patience);
  expect({
    endedByThemselves: endedParts(deployment),
    unsettled,
    missingInInbox: await missingDeliveries(deployment, evidence),
    doubled: await doubledRows(deployment.database),
    unaccounted: await sendDifferences(deployment.database, deployment.service),
    leaked: await leaks(deployment),
  }).toEqual({ endedByThemselves: [], unsettled: [], missingInInbox: [], doubled: [], unaccounted: [], leaked: [] });
}

/**
 * Waits until nothing is pending and the mirror equals the service, for as long as it comes nearer; else says what still
 * stands between them.
 */
async function unsettledAtLast(deployment: Deployment, evidence: Evidence, patience: number): Promise<string[]> {
  let fewest = Number.POSITIVE_INFINITY;
  let deadline = performance.now() + patience;
  for (;;) {
    let unsettled = await owedTargets(deployment);
    if (unsettled.length === 0) unsettled = await mirrorDifferences(deployment, evidence);
    if (unsettled.length === 0 || endedParts(deployment).length > 0 || performance.now() > deadline) {
      return unsettled.slice(0, maxShown);
    }
    if (unsettled.length < fewest) {
      fewest = unsettled.length;
      deadline = performance.now() + patience;
    }
    await sleep(pause);
  }
}

/**
 * What is due and was not read, and how it stands. Of many calls there is always one whose next look for late artefacts
 * has just come; such a look, at what was read before, is given a few seconds.
 */
async function owedTargets({ database }: Deployment): Promise<string[]> {
  const { rows } = await database.query<{ pending: string }>(
    `select format('%s %s is pending since %s, attempts %s, %s', kind, key, due_at, attempts, last_error) as pending
     from ops.sync_targets where dirty_version > clean_version
       and due_at <= now() + case when clean_version > 0 and attempts = 0 then interval '-5 seconds' else interval '1 second' end`,
  );
  return rows.map(({ pending }) => pending);
}

/** Processes that are not there, with their last words. */
function endedParts({ webs, workers }: Deployment): string[] {
  return [...webs, ...workers]
    .filter(({ isRunning }) => !isRunning)
    .map(({ name, output }) => `${name}: …${output.slice(-lastWords)}`);
}

async function mirrorDifferences(deployment: Deployment, { threads, callIds }: Evidence): Promise<string[]> {
  const { database, service } = deployment;
  const looks = [
    ...threads.map((thread) => () => threadDifferences(database, service, thread)),
    ...callIds.map((callId) => () => callDifferences(database, service, callId)),
  ];
  const found: string[] = [];
  for (let from = 0; from < looks.length; from += looksAtOnce) {
    const some = await Promise.all(looks.slice(from, from + looksAtOnce).map((look) => look()));
    found.push(...some.flat());
  }
  return found;
}

async function missingDeliveries({ database }: Deployment, evidence: Evidence): Promise<string[]> {
  // Asked for before the inbox is looked at: the service may still be repeating what was refused.
  const accepted = tally(await evidence.accepted());
  const { rows } = await database.query<{ event_type: string; body: string }>(
    `select event_type, body from ops.deliveries where is_recognized and user_agent is distinct from 'fuzz'`,
  );
  const stored = tally(rows.map(({ event_type, body }) => deliveryKey(event_type, body)));
  return [...accepted].flatMap(([key, count]) => {
    const held = stored.get(key) ?? 0;
    return held >= count ? [] : [`${key}: stored ${held} of ${count} times`];
  });
}
