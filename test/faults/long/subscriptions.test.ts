import { expect, test, vi } from 'vitest';
import { wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { ourSubscriptions } from '../deployment/deployment.ts';
import type { FaultyService, Resource } from '../deployment/service.ts';
import { deployForSuite } from '../deployment/suite.ts';
import { startLoad } from '../load/load.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const deployment = deployForSuite({ backend: 'redis' });
/** Looked at each minute, and the gap is filled at the next round after that. */
const noticed = { timeout: 100_000, interval: 500 };
const pollEach = { timeout: 150_000, interval: 500 };

type Change = (service: FaultyService, subscription: Resource) => Promise<void>;

const changed =
  (changes: Resource): Change =>
  (service, { id }) =>
    service.changeSubscription(id, changes);
const deleted: Change = (service, { id }) => service.deleteSubscription(id);
const duplicated: Change = (service, { name, url, type }) => service.subscribe({ name, url, type });

const rounds: readonly Readonly<Record<'AccountSMS' | 'AccountEndedCalls', Change>>[] = [
  { AccountSMS: changed({ enabled: false }), AccountEndedCalls: deleted },
  {
    AccountSMS: changed({ type: 'AccountAITranscription' }),
    AccountEndedCalls: changed({ url: 'https://elsewhere.invalid/hooks' }),
  },
  { AccountSMS: duplicated, AccountEndedCalls: changed({ enabled: false }) },
];

test('notices what became of its subscriptions within a minute, repairs them, and fills the gap', async ({
  onTestFinished,
}) => {
  const { service, addresses, database } = deployment();
  const load = await startLoad(deployment(), createRandom('subscriptions'), onTestFinished);
  await load.goesOn(10);
  await load.finish();
  await service.subscribe({ name: 'somebody else', url: 'https://stranger.example/hooks', type: 'AccountSMS' });
  const foreign = await stranger();
  for (const round of rounds) {
    for (const [type, change] of Object.entries(round)) {
      const held = (await ourSubscriptions(service, addresses)).find((each) => each.type === type && each.enabled);
      await change(service, held ?? {});
    }
    // It began long before the gap, and was only announced in it.
    const lost = await service.call({ durationSeconds: 1_500, recordingAfterMs: 0, transcriptAfterMs: null });
    const [known] = load.threads.filter(({ participants }) => participants.length === 0);
    const text = await service.sms({ line: String(known?.line), number: String(known?.number), text: 'pelican lost' });
    await vi.waitUntil(isInPlace, noticed);
    await expect.poll(() => isHeld('calls', 'call_id', lost.id), pollEach).toBe(true);
    await expect.poll(() => isHeld('sms_messages', 'message_id', text.id), pollEach).toBe(true);
  }
  expect(await stranger(), 'what belongs to others').toEqual(foreign);
  await expectNothingLost(deployment(), load);

  async function stranger(): Promise<Resource[]> {
    const listed = await service.read('/webhooks');
    return listed.filter(({ url }) => String(url).includes('stranger.example'));
  }
  async function isInPlace(): Promise<boolean> {
    const enabled = (await ourSubscriptions(service, addresses)).filter((each) => each.enabled);
    const types = enabled.map(({ type }) => String(type)).sort();
    return types.join(' ') === [...wantedTypes].sort().join(' ');
  }
  async function isHeld(table: string, column: string, id: number | string): Promise<boolean> {
    const { rowCount } = await database.query(`select from warehouse.${table} where ${column} = $1`, [id]);
    return rowCount === 1;
  }
}, 900_000);
