import type { Backend } from '../../stores/backends.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Moment, Trap } from './trap.ts';
import type { Wires } from './wires.ts';

/** Where a process is killed: at the moment in which these bytes pass, seen from outside. */
export interface KillPoint {
  readonly step: Step;
  readonly victim: 'web' | 'worker';
  readonly wire: keyof Wires;
  readonly trap: Trap;
}

export type Step =
  | 'body read'
  | 'insert'
  | 'commit'
  | 'answer'
  | 'enqueue'
  | 'job taken'
  | 'claim'
  | 'fetch'
  | 'upsert'
  | 'mark clean'
  | LedgerStep;

/** What a worker does of a send. */
export type LedgerStep = 'planned' | 'reserved' | 'looked' | 'dispatched' | 'posted' | 'settled';

/** Each step of a delivery's way, before, within and after its bytes: all the places where a death could lose or double. */
export function killPoints(backend: Backend): readonly KillPoint[] {
  const enqueue = backend === 'redis' ? 'evalsha' : 'add_flow';
  return [
    ...web('body read', 'toWeb', 'POST /hooks', ['half asked']),
    ...web('body read', 'toWeb', 'webhookType', ['half asked', 'asked']),
    ...web('insert', 'webToPostgres', 'accept-deliveries', ['unasked', 'half asked', 'asked']),
    ...web('commit', 'webToPostgres', 'accept-deliveries', ['unanswered', 'answered']),
    ...web('answer', 'toWeb', 'webhookType', ['unanswered', 'half answered', 'answered']),
    ...web('enqueue', 'webToQueue', enqueue, ['unasked', 'asked', 'unanswered']),
    {
      step: 'job taken',
      victim: 'worker',
      wire: 'workerToQueue',
      trap: { words: '"kind"', saidBy: 'answering', when: 'unanswered' },
    },
    ...worker('claim', 'workerToPostgres', 'read_at = clock_timestamp()', ['unasked', 'unanswered']),
    ...worker('fetch', 'workerToService', 'GET /api/public/v1/', ['unasked', 'asked', 'half answered']),
    ...worker('upsert', 'workerToPostgres', 'insert into warehouse.', ['unasked', 'unanswered']),
    ...worker('mark clean', 'workerToPostgres', 'clean_version = greatest', ['unasked']),
    ...worker('mark clean', 'workerToPostgres', 'commit\0', ['unasked', 'unanswered']),
  ];
}

/** Says where: "insert, half asked". */
export function nameOf({ step, trap }: KillPoint): string {
  return `${step}, ${trap.when}`;
}

function web(step: Step, wire: keyof Wires, words: string, moments: readonly Moment[]): KillPoint[] {
  return moments.map((when) => ({ step, victim: 'web', wire, trap: { words, when } }));
}

function worker(step: Step, wire: keyof Wires, words: string, moments: readonly Moment[]): KillPoint[] {
  return moments.map((when) => ({ step, victim: 'worker', wire, trap: { words, when } }));
}

/** A load passes every point many times within this. */
const limit = 30_000;

/** Kills a process with SIGKILL at the moment in which a point's bytes pass, under load, and starts it again. */
export async function killAt(deployment: Deployment, point: KillPoint): Promise<void> {
  const { wires } = deployment;
  if (wires === undefined) throw new Error('only a wired deployment can be killed at a point');
  const victim = deployment[point.victim];
  const sprung = Promise.withResolvers<void>();
  wires[point.wire].set(point.trap, () => {
    victim.signal('SIGKILL');
    sprung.resolve();
  });
  const timer = setTimeout(() => {
    wires[point.wire].disarm();
    sprung.reject(new Error(`Nothing passed at "${nameOf(point)}" for ${limit / 1_000} s`));
  }, limit);
  await sprung.promise.finally(() => clearTimeout(timer));
  await victim.ended();
  await victim.start();
}
