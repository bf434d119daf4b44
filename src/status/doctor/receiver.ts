import { request } from 'undici';
import { isLoopbackUrl, type Settings, shortestUnguessed } from '../../../config/settings.ts';
import { eventTypeOf } from '../../event-types.ts';
import type { Subscription } from '../../service/entities/subscription.ts';
import { hookUrl } from '../../sync/subscriptions/addresses.ts';
import { wantedTypes } from '../../sync/subscriptions/ensure.ts';
import { deliversTo } from '../../sync/subscriptions/shown.ts';
import type { WatchedSubscription } from '../../sync/subscriptions/watched.ts';
import { type Finding, findingsOn, messageOf } from './finding.ts';

const on = findingsOn('Receiver');
const patienceMs = 5_000;

/**
 * Examines whether deliveries can arrive: the secret, the address, and the subscriptions that name it. `subscriptions`
 * is undefined where they could not be listed; that is told elsewhere. `isDelivered` tells that the mirror knows enabled
 * subscriptions of ours; `watched` is how the last look at the subscriptions left them. Never rejects.
 */
export async function examineReceiver(
  { receiver, api }: Settings,
  subscriptions: readonly Subscription[] | undefined,
  isDelivered: boolean,
  watched: ReadonlyMap<string, WatchedSubscription> = new Map(),
): Promise<Finding[]> {
  const { publicUrl, secret } = receiver;
  if (isDelivered && (secret === undefined || publicUrl === undefined)) {
    return [
      on.ok('Subscriptions of a running receiver are enabled; its PUBLIC_URL and WEBHOOK_SECRET are not set here.'),
    ];
  }
  if (secret === undefined) {
    return [
      on.warning(
        'WEBHOOK_SECRET is not set, so the addresses of the receiver are not known here.',
        'Set it as the receiver has it; `start` keeps its own in the data folder.',
      ),
    ];
  }
  const findings = [secretOf(secret)];
  if (publicUrl === undefined) {
    findings.push(
      on.warning(
        'PUBLIC_URL is not set here, and no webhook of ours is known to be registered, so nothing announces what is new.',
        'Run the receiver with PUBLIC_URL: the address at which the service reaches it. Set it here too.',
      ),
    );
    return findings;
  }
  findings.push(await reachability(publicUrl, secret));
  if (api.baseUrl !== undefined && isLoopbackUrl(publicUrl) && !isLoopbackUrl(api.baseUrl)) {
    findings.push(
      on.problem(
        'PUBLIC_URL is a loopback address, which the service cannot reach.',
        'Set PUBLIC_URL to an address that is reachable from the internet, through a tunnel if need be.',
      ),
    );
  }
  if (subscriptions)
    findings.push(
      ...wantedTypes.map((type) =>
        subscriptionOf(
          type,
          (each) => deliversTo(each, watched.get(type), hookUrl(publicUrl, secret, type)),
          subscriptions,
        ),
      ),
    );
  return findings;
}

function secretOf(secret: string): Finding {
  if (secret.length >= shortestUnguessed) return on.ok('The webhook secret is long enough not to be guessed.');
  return on.warning(
    `The webhook secret has ${secret.length} characters and might be guessed.`,
    'Make one with `openssl rand -hex 24`, and set the old one as WEBHOOK_SECRET_PREVIOUS until the subscriptions are renewed.',
  );
}

async function reachability(publicUrl: string, secret: string): Promise<Finding> {
  const cure = 'See that `trunkline web` runs behind PUBLIC_URL, with the same WEBHOOK_SECRET.';
  try {
    const answer = await request(hookUrl(publicUrl, secret, 'AccountSMS'), { signal: AbortSignal.timeout(patienceMs) });
    const said = await answer.body.text();
    if (answer.statusCode === 200 && isReady(said)) return on.ok('The receiver answers at PUBLIC_URL.');
    const why = whyNot[answer.statusCode] ?? 'not the receiver';
    return on.problem(`PUBLIC_URL answers ${answer.statusCode}: ${why} stands there.`, cure);
  } catch (error) {
    return on.problem(`Nothing answers at PUBLIC_URL: ${messageOf(error)}.`, cure);
  }
}

const whyNot: Readonly<Record<number, string>> = {
  200: 'another program',
  404: 'another secret, or another program',
};

/** What a hook says to whoever opens its address; many a site answers 200 to everything. */
function isReady(text: string): boolean {
  try {
    return (JSON.parse(text) as { ready?: unknown } | null)?.ready === true;
  } catch {
    return false;
  }
}

function subscriptionOf(
  type: (typeof wantedTypes)[number],
  isOurs: (subscription: Subscription) => boolean,
  subscriptions: readonly Subscription[],
): Finding {
  const found = subscriptions.filter(isOurs);
  if (found.some((each) => each.enabled !== false && eventTypeOf(each.type ?? '') === type))
    return on.ok(`${type} is subscribed to.`);
  const what = found.length === 0 ? 'is not subscribed to' : 'has a subscription that is disabled or of another type';
  return on.problem(`${type} ${what}.`, 'Run `trunkline subscriptions ensure`.');
}
