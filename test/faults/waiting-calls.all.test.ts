import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { backends } from '../stores/backends.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { deploy } from './deployment/deployment.ts';
import { root } from './deployment/part.ts';

/* The trigger of a call waits for its legs: a worker that is killed meanwhile neither loses nor doubles it. */

describe.concurrent.each(backends)('on %s', (backend) => {
  test('a missed call is texted back once, however often the worker is killed before its legs come', async ({
    onTestFinished,
  }) => {
    const folder = await temporaryFolder();
    const environment = { RULES_MODE: 'live', RULES_FILE: join(folder, 'rules.yaml') };
    // At once: the wait is for the legs here.
    const shipped = await readFile(`${root}config/rules.yaml`, 'utf8');
    await writeFile(environment.RULES_FILE, shipped.replace('    after: 2m\n', ''));
    const { service, worker, database } = await deploy({ backend, environment }, onTestFinished);
    const waiting = { timeout: conditionTimeoutMs, interval: 50 };
    const number = '12125550142';
    const legsAfterMs = 12_000;
    const legsAt = performance.now() + legsAfterMs;
    const { id } = await service.call({
      direction: 'inbound',
      status: 'missed',
      group: 'Service',
      number,
      legs: [
        { calledType: 'ivr', talkSeconds: 20 },
        { calledType: 'queue', status: 'cancel', ringSeconds: 20 },
      ],
      legsAfterMs,
    });
    const pending = async () =>
      (await database.query('select from ops.rule_events where key = $1', [id])).rowCount ?? 0;
    await vi.waitUntil(async () => (await pending()) > 0, waiting);
    for (const pauseMs of [0, 300, 2_000]) {
      await sleep(pauseMs);
      // A busy machine starts workers slowly. A kill after the legs may leave a reserved text, which waits for a minute.
      if (performance.now() > legsAt - 2_000) break;
      await worker.crash();
      expect(await pending()).toBeGreaterThan(0);
      await worker.start();
    }
    const charged = async () => (await service.sends()).filter(({ charge }) => charge?.to.includes(number)).length;
    await vi.waitUntil(async () => (await charged()) > 0, waiting);
    await worker.crash();
    await worker.start();
    await vi.waitUntil(async () => (await pending()) === 0, waiting);
    const { rows } = await database.query(
      `select r.rule, c.reached, s.state, count(*) over ()::integer as runs
       from ops.rule_runs r join warehouse.calls c on c.call_id = r.trigger_key left join ops.sends s on s.trigger_id = r.trigger_key
       where r.trigger_key = $1 and r.is_matched`,
      [id],
    );
    expect(rows).toMatchObject([{ rule: 'missed-call-text-back', reached: 'queue', runs: 1 }]);
    expect(await charged()).toBe(1);
  });
});
