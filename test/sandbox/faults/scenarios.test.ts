import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFaults } from '../../../src/sandbox/faults/faults.ts';
import { createScenarioRunner, scenarioNames, scenarios } from '../../../src/sandbox/faults/scenarios.ts';
import { faultSpec } from '../../../src/sandbox/faults/spec.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createStore } from '../../../src/sandbox/store/store.ts';
import type { Timers } from '../../../src/sandbox/timers.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 10, threads: 3 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const running = async () => (await control('GET', '/scripts')).body.data.running;
const faults = async () => (await control('GET', '/faults')).body.data;

test('every script is listed with a sentence, its length and its steps', async () => {
  const { scripts } = (await control('GET', '/scripts')).body.data;
  expect(scripts.map(({ name }: { name: string }) => name)).toEqual([...scenarioNames]);
  for (const script of scripts) {
    expect(script).toMatchObject({ about: expect.stringMatching(/\.$/), seconds: expect.any(Number) });
    expect(script.steps[0].fromSeconds).toBe(0);
    expect(script.steps.at(-1).fromSeconds).toBeLessThan(script.seconds);
  }
});

test.each(scenarioNames)('each step of %s lets something go wrong', (name) => {
  for (const step of scenarios[name].steps) expect(faultSpec.parse(step.faults)).not.toEqual(faultSpec.parse({}));
});

test.each(scenarioNames)('%s goes through its steps in their order and ends clean', (name) => {
  const steps: { ms: number; act: () => void }[] = [];
  const timers: Timers = { after: (ms, act) => void steps.push({ ms, act }), clear: () => undefined };
  const plainFaults = createFaults(1);
  for (const { operations = [] } of scenarios[name].steps.flatMap(({ faults }) => faultSpec.parse(faults).answers)) {
    for (const operation of operations) plainFaults.registerOperation(operation);
  }
  const scripts = createScenarioRunner({
    faults: plainFaults,
    store: createStore(() => undefined),
    timers,
    now: () => new Date(0),
  });
  const seen = [scripts.start(name, 60).step];
  for (const { act } of steps.toSorted((one, other) => one.ms - other.ms)) {
    act();
    seen.push(scripts.running()?.step ?? 'over');
  }
  expect(seen).toEqual([...scenarios[name].steps.map(({ about }) => about), 'over']);
  expect(Math.max(...steps.map(({ ms }) => ms))).toBe(60_000);
  expect(plainFaults.current()).toEqual(createFaults(1).current());
});

test('a script that is started runs through by itself, and ends when it said', async () => {
  const right = await faults();
  const started = await control('POST', '/scripts', { name: 'late', seconds: 0.3 });
  expect(started.body.data).toMatchObject({ name: 'late', step: scenarios.late.steps[0].about });
  await expect.poll(running).toBeNull();
  expect(await faults()).toEqual(right);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(started.body.data.endsAt) - 5);
});

test('an outage takes everything down, OAuth included', async () => {
  sandbox.runScenario('outage', 60);
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask('GET', '/users')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 500]));
  const discovery = Array.from({ length: 30 }, () => fetch(`${sandbox.url}/.well-known/oauth-authorization-server`));
  expect(new Set((await Promise.all(discovery)).map(({ status }) => status))).toEqual(new Set([200, 500]));
});

test('a script is ended by DELETE, by an empty body, by null, by other faults and by a reset', async () => {
  const ends = [
    () => control('DELETE', '/scripts'),
    () => control('POST', '/scripts', {}),
    () => sandbox.runScenario(null),
    () => sandbox.faults({}),
    () => sandbox.reset(),
  ];
  for (const end of ends) {
    sandbox.runScenario('slow', 60);
    expect(await running()).not.toBeNull();
    await end();
    expect([await running(), (await faults()).latencyMs]).toEqual([null, 0]);
  }
});

test('faults that replace those of a script stay when its next step would begin', async () => {
  sandbox.runScenario('slow', 0.4);
  sandbox.faults({ drop: 0.25 });
  await sleep(500); // past the end of what would have gone on
  expect(await faults()).toMatchObject({ drop: 0.25, latencyMs: 0 });
});

test('a script that begins takes the place of the one that runs', async () => {
  sandbox.runScenario('slow', 0.5);
  sandbox.runScenario('drift', 60);
  await sleep(600); // past the end of the first
  expect(await running()).toMatchObject({ name: 'drift' });
});

test('the drift disables a subscription in its last step', async () => {
  await ask('POST', '/webhooks', { type: 'AccountSMS', url: 'https://receiver.example.com/' });
  sandbox.runScenario('drift', 0.2);
  await expect.poll(running).toBeNull();
  expect((await ask('GET', '/webhooks')).body.data).toMatchObject([{ enabled: false }]);
});

test.each([
  [{ name: 'apocalypse' }, 'name'],
  [{ name: 'slow', seconds: -1 }, 'seconds'],
  [{ seconds: 5 }, 'name is required'],
])('POST /scripts refuses %j', async (body, named) => {
  const refused = await control('POST', '/scripts', body);
  expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining(named)]);
});
