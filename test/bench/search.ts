import { Agent, request } from 'undici';
import { atMost, type Finding, quantity } from './report.ts';
import { type SandboxAccess, startSandbox } from './rig/daemon.ts';
import type { Rig } from './rig/rig.ts';
import { watching } from './rig/usage.ts';
import { quantile, ratiosOf, spreadOf } from './spread.ts';

const calls = 200_000;
/** About 100,000 messages. */
const threads = 15_000;
const asksPerRound = 100;
const asksToWarmUp = 10;
const goalMs = 50;

/** What is asked over one month. */
const kinds: Readonly<Record<string, object>> = {
  'no filter': {},
  'no filter, 20,000 rows skipped': { offset: 20_000 },
  'one number': { filters: { numbers: ['16465550100'] } },
  'all numbers but one': { filters: { numbersExclude: ['16465550100'] } },
  'one extension': { filters: { extensions: ['203'] } },
  'all extensions but one': { filters: { extensionsExclude: ['203'] } },
  'one queue': { filters: { queues: ['Service'] } },
  'all queues but one': { filters: { queuesExclude: ['Service'] } },
  'one huntgroup': { filters: { huntgroups: ['Front desk'] } },
  'all huntgroups but one': { filters: { huntgroupsExclude: ['Front desk'] } },
  'one user': { filters: { users: ['miriam.adler'] } },
  'one direction': { direction: 'inbound', filters: { directions: ['inbound'] } },
  'one status': { filters: { statuses: ['voicemail'] } },
  'a name': { filters: { search: 'rosen' } },
  'digits of nobody': { filters: { search: '0000000' } },
  'seconds of each kind': {
    filters: { duration: { start: '60' }, talkTime: { start: '30', end: '300' }, waitTime: { end: '40' } },
  },
  'hours of the day': {
    timeZone: 'America/New_York',
    filters: { timeOfDay: { start: '17:00', end: '09:00' } },
  },
  'one purpose': { filters: { callPurpose: ['Complaint'] } },
  'every sentiment': { filters: { callSentiment: ['positive', 'neutral', 'negative'] } },
  'five filters at once': {
    timeZone: 'America/New_York',
    filters: {
      ...{ queues: ['Service', 'Sales'], extensionsExclude: ['203'], statuses: ['answered'] },
      ...{ timeOfDay: { start: '08:00', end: '18:00' }, callSentiment: ['negative'] },
    },
  },
  ...Object.fromEntries(
    ['id', 'endTime', 'durationSeconds', 'callerName', 'dialledNumber', 'calledBack', 'abandoned'].map((field) => [
      `by ${field}, ascending, 10,000 rows skipped`,
      { sort: { field, direction: 'asc' }, offset: 10_000 },
    ]),
  ),
};
const bare = 'no filter';
const limits = [50, 500] as const;

/** Searches of one month of a large history, each kind against a bare page of the same size. */
export async function search(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 2;
  const times: Record<string, number[][]> = {};
  const began = performance.now();
  await using sandbox = await startSandbox('--calls', String(calls), '--threads', String(threads));
  const readySeconds = (performance.now() - began) / 1_000;
  const asker = createAsker(sandbox.ready);
  await using _closing = { [Symbol.asyncDispose]: () => asker.close() };

  const { result, usage } = await watching({ sandbox: sandbox.pid }, async () => {
    const first: number[] = [];
    for (const kind of Object.values(kinds)) first.push(await asker.ask(kind, limits[0]));
    for (let round = 0; round <= rounds; round += 1) {
      for (const limit of limits) {
        for (const [name, kind] of Object.entries(kinds)) {
          const took: number[] = [];
          const asks = round === 0 ? asksToWarmUp : asksPerRound;
          for (let ask = 0; ask < asks; ask += 1) took.push(await asker.ask(kind, limit));
          if (round > 0) times[`${limit} ${name}`] = [...(times[`${limit} ${name}`] ?? []), took];
        }
      }
      if (round > 0) rig.progress(`round ${round} of ${rounds}`);
    }
    return { first };
  });

  return [
    {
      bench: 'search',
      what: `start with ${calls.toLocaleString('en')} calls and ${threads.toLocaleString('en')} threads`,
      subject: quantity('ready', 's', spreadOf([readySeconds])),
    },
    {
      bench: 'search',
      what: 'memory after all searches',
      subject: quantity('RSS', 'MB', spreadOf([usage.residentMb.sandbox ?? Number.NaN])),
      goal: atMost(spreadOf([usage.residentMb.sandbox ?? Number.NaN]), 1_000, ' MB'),
    },
    {
      bench: 'search',
      what: 'first of each kind in a new process',
      subject: quantity('slowest', 'ms', spreadOf([Math.max(...result.first)])),
      goal: atMost(spreadOf([Math.max(...result.first)]), goalMs, ' ms'),
    },
    ...limits.flatMap((limit) => Object.keys(kinds).map((name) => findingOf(times, name, limit))),
  ];
}

function findingOf(times: Readonly<Record<string, readonly number[][]>>, name: string, limit: number): Finding {
  const rounds = times[`${limit} ${name}`] ?? [];
  const baseline = times[`${limit} ${bare}`] ?? [];
  const at = (q: number, of: readonly number[][]) => of.map((took) => quantile(took, q));
  const [p50, p99] = [spreadOf(at(0.5, rounds)), spreadOf(at(0.99, rounds))];
  const p50Ratio = ratiosOf(at(0.5, rounds), at(0.5, baseline));
  return {
    bench: 'search',
    what: `${name}; ${limit} rows a page`,
    baseline: quantity('bare page p99', 'ms', spreadOf(at(0.99, baseline))),
    subject: quantity('p99', 'ms', p99),
    ratio: ratiosOf(at(0.99, rounds), at(0.99, baseline)),
    goal: atMost(p99, goalMs, ' ms'),
    limits: `p50: ${p50.median.toFixed(1)} ms, ${p50Ratio.median.toFixed(2)} × that of the bare page`,
  };
}

interface Asker {
  /** Milliseconds until the whole answer is there. */
  ask(search: object, limit: number): Promise<number>;
  close(): Promise<void>;
}

/** One request after the other on one connection. */
function createAsker({ url, apiKey }: SandboxAccess): Asker {
  const dispatcher = new Agent({ connections: 1 });
  const end = Math.floor(Date.now() / 1_000);
  const month = { start: end - 30 * 86_400, end };
  return {
    async ask(kind, limit) {
      const body = JSON.stringify({ ...month, ...kind, limit });
      const began = performance.now();
      const answer = await request(`${url}/api/public/v1/calls/search`, {
        method: 'POST',
        dispatcher,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body,
      });
      const text = await answer.body.text();
      const took = performance.now() - began;
      if (answer.statusCode !== 200) throw new Error(`The search ${body} was answered ${answer.statusCode}: ${text}`);
      return took;
    },
    close: () => dispatcher.close(),
  };
}
