import type { faults, Group } from './faults.ts';

/** The test that injects a fault: its file below `test/`, and words of its name. */
export interface Injection {
  readonly file: string;
  readonly test: string;
}

const kills = at('faults/long/campaigns/kills.test.ts', 'loses nothing when a process is killed at each step');
const release = at('faults/long/releases.test.ts', 'a release migrates under load');
const crashes = at('faults/crashes.test.ts', 'while every part is killed in turn under load');
const stores = (test: string) => at('faults/long/stores.test.ts', test);
const api = (test: string) => at('faults/long/api.test.ts', test);
const events = (test: string) => at('faults/long/events.test.ts', test);
const deliveries = (test: string) => at('faults/deliveries.test.ts', test);
const watch = at('faults/long/subscriptions.test.ts', 'notices what became of its subscriptions within a minute');

/** Every fault with its test; the type refuses a fault that has none. */
export const injections: { readonly [G in Group]: Readonly<Record<(typeof faults)[G][number], Injection>> } = {
  process: {
    'SIGKILL at body read': kills,
    'SIGKILL at insert': kills,
    'SIGKILL at commit': kills,
    'SIGKILL at answer': kills,
    'SIGKILL at enqueue': kills,
    'SIGKILL at claim': kills,
    'SIGKILL at fetch': kills,
    'SIGKILL at upsert': kills,
    'SIGKILL at mark clean': kills,
    'SIGKILL at each ledger step': at(
      'faults/long/ledger.test.ts',
      'sends nothing twice when a worker is killed at each step of a send',
    ),
    'SIGKILL in a backlog': at(
      'faults/long/process.test.ts',
      'loses nothing when a worker is killed again and again in a backlog',
    ),
    'SIGTERM twice with work in hand': at('faults/long/signals.test.ts', 'ends in time with exit code 0 on SIGTERM'),
    'SIGSTOP for a while, then CONT': at('faults/long/signals.test.ts', 'goes on where it was after SIGSTOP'),
    'a blocked event loop': at('faults/long/process.test.ts', 'goes on where it was after its event loop was blocked'),
    '512 MB': at('faults/long/process.test.ts', 'lives in 512 MB'),
    'an unhandled rejection': at('faults/long/process.test.ts', 'ends for an unhandled rejection'),
    'two versions running side by side': release,
    'a migration under load': release,
  },
  stores: {
    'Redis killed': crashes,
    'Redis restarted': crashes,
    'Redis flushed': at('faults/long/campaigns/stores.test.ts', 'loses nothing when all jobs are lost'),
    'Redis out of memory': stores('goes on accepting while Redis is out of memory'),
    'Postgres killed (immediate)': crashes,
    'Postgres restarted': crashes,
    'Postgres read-only': stores('answers 503 while Postgres is read-only'),
    'Postgres pool exhausted': stores('loses nothing when every connection of its pool waits'),
    'Postgres slow': stores('loses nothing while Postgres is slow'),
    'a connection cut after COMMIT': stores('loses and doubles nothing when connections are cut after COMMIT'),
  },
  api: {
    '500': api('answers 500'),
    '502 with HTML': api('answers 502 with HTML'),
    '429 with Retry-After': api('answers 429 with Retry-After'),
    '429 without Retry-After': api('answers 429 without Retry-After'),
    'drip-fed answers': api('drips'),
    'truncated JSON': api('cuts JSON short'),
    '200 with HTML': api('answers 200 with HTML'),
    '`data` missing': api('has no data'),
    'gzip bombs': api('sends gzip bombs'),
    resets: api('resets connections'),
    'TLS failures': api('a server that does not speak TLS'),
    'DNS failures': api('a name that does not resolve'),
    'call ids as numbers': api('sends call ids as numbers'),
    'every field dropped': api('leaves fields out'),
    'every field null': api('answers null where values were'),
    'every field of another type': api('answers values of another type'),
    'pages that shift': api('pages threads that shift'),
    '`limit` out of range': at('sync/threads.test.ts', 'learns a limit of %i from refusals'),
    'late recordings': api('looks again for recordings and transcripts that are late'),
    'flapping 404': api('a flapping 404'),
    'revoked scope': api('parks only what a revoked scope concerns'),
    'expired token with 50 requests in flight': at(
      'credentials/processes.test.ts',
      'five hundred requests of four processes that are refused at once make one refresh',
    ),
    'a refresh whose answer is lost': at('credentials/refresh.test.ts', 'whose answer is lost means: log in again'),
  },
  events: {
    'duplicated ×100': deliveries('reads a text delivered a hundred times a few times'),
    reordered: deliveries('whose deliveries are late, doubled and overtake each other'),
    'a week late': events('a week late'),
    'during a fetch': at('sync/refusals.test.ts', 'a hint during a read leaves its target pending'),
    'forged with a leaked URL': deliveries('reads at most once per pause for forged deliveries'),
    malformed: deliveries('keeps malformed deliveries as they are'),
    empty: events('empty'),
    'unknown type': events('under an unknown type'),
    '1 MiB + 1': events('one byte larger than a MiB'),
    'slow loris': events('goes on accepting while hundreds of senders never finish'),
  },
  subscriptions: { disabled: watch, deleted: watch, retyped: watch, redirected: watch, duplicated: watch },
};

function at(file: string, test: string): Injection {
  return { file, test };
}
