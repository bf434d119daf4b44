import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createDatabase } from '../../../src/db/database.ts';
import { resumeSends } from '../../../src/ledger/control.ts';
import { createLog } from '../../../src/shared/log.ts';
import { temporaryFolder } from '../../at-end.ts';
import { backends } from '../../stores/backends.ts';
import { type Deployment, deploy } from '../deployment/deployment.ts';
import { createProgress, report } from '../figures.ts';
import { killAt, nameOf } from '../nemesis/kill-points.ts';
import { ledgerPoints } from '../nemesis/ledger-points.ts';
import { expectNothingLost } from '../oracle/oracle.ts';

// The cap bounds how many sends are under way together, and here most are a dead worker's, until its lease ends.
const rules = `
budgets: { daily_dollars: 100 }
rules:
  - name: answer
    on: message_received
    do: [{ reply: 'An answer to {{ message.id }}.' }]
    limits: { quiet_hours: none }
`;

/** The first look for a send of unknown outcome, after a quarter of a minute, and a machine that does other things too. */
const settleLimit = 200_000;

describe.each(backends)('on %s', (backend) => {
  test('sends nothing twice when a worker is killed at each step of a send', async ({ onTestFinished }) => {
    const began = performance.now();
    const progress = createProgress(`ledger on ${backend}`);
    const folder = await temporaryFolder();
    const rulesFile = join(folder, 'rules.yaml');
    await writeFile(rulesFile, rules);
    const environment = { RULES_MODE: 'live', RULES_FILE: rulesFile };
    const deployment = await deploy({ backend, isWired: true, environment }, onTestFinished);
    const { service, database } = deployment;
    const asked = ledgerPoints.map((point, at) => ({ point, number: `12125550${100 + at}` }));
    const made: { line: string; number: string }[] = [];
    let open = 0;

    for (const { point, number } of asked) {
      const killed = killAt(deployment, point);
      // Whoever waits for nothing would leave a rejection behind.
      killed.catch(() => undefined);
      made.push(await service.sms({ number, text: 'Are you open?' }));
      await killed;
      progress(() => `killed at ${nameOf(point)}`);
      open += point.leavesOpen ? 1 : 0;
      await until(deployment, async () => (await holdLeases(deployment)) === open);
    }
    await endLeases(deployment);
    await until(deployment, async () => (await unsettled(deployment)) === 0);

    const { rows } = await database.query<{ number: string; remainder: string }>(
      `select number, case when state = 'SENT' and is_reconciled then 'reconciled' else lower(state) end as remainder from ops.sends`,
    );
    const charged = (await service.sends()).flatMap(({ charge }) => charge?.to ?? []);
    const left = asked.map(({ point, number }) => {
      const own = rows.filter((row) => row.number === number).map(({ remainder }) => remainder);
      return { point: nameOf(point), remainders: own, charges: charged.filter((to) => to === number).length };
    });
    expect(left).toEqual(
      asked.map(({ point }) => ({
        point: nameOf(point),
        remainders: [point.remainder],
        charges: point.remainder === 'unknown' ? 0 : 1,
      })),
    );
    await expectNothingLost(deployment, {
      threads: made.map(({ line, number }) => ({ line, number, participants: [] })),
      callIds: [],
      accepted: async () => [],
    });
    report('ledger', backend, `a worker killed at ${asked.length} points of a send`, began);
  }, 900_000);
});

/** Holds what a death has left, so that no other point is met by it; answers with how many sends are under way. */
async function holdLeases({ database }: Deployment): Promise<number> {
  await database.query(
    `update ops.sends set due_at = now() + interval '1 hour' where state in ('RESERVED', 'DISPATCHED', 'UNKNOWN')`,
  );
  const { rowCount } = await database.query(`select from ops.sends where state not in ('SENT', 'DENIED', 'EXPIRED')`);
  return rowCount ?? 0;
}

async function endLeases({ database }: Deployment): Promise<void> {
  await database.query(`update ops.sends set due_at = now() where state in ('RESERVED', 'DISPATCHED', 'UNKNOWN')`);
}

/** Sends that are under way, or of unknown outcome and were not looked for yet. */
async function unsettled({ database }: Deployment): Promise<number> {
  const { rowCount } = await database.query(
    `select from ops.sends
     where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED') or (state = 'UNKNOWN' and search_count = 0)`,
  );
  return rowCount ?? 0;
}

/** Waits; meanwhile the operator lets sends out again, which three unknown outcomes stop. */
async function until(deployment: Deployment, condition: () => Promise<boolean>): Promise<void> {
  const { database, postgres } = deployment;
  await using owner = createDatabase({ url: postgres.url, log: createLog('silent'), maxConnections: 1, name: 'owner' });
  const deadline = performance.now() + settleLimit;
  while (!(await condition())) {
    const { rows } = await database.query<{ is_paused: boolean }>('select is_paused from ops.send_control');
    if (rows[0]?.is_paused) await resumeSends(owner.db);
    if (performance.now() > deadline) {
      const sends = await database.query('select number, state, reason, due_at from ops.sends order by planned_at');
      throw new Error(`The sends do not settle: ${JSON.stringify(sends.rows)}`);
    }
    await sleep(200);
  }
}
