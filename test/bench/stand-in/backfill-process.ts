import { apiKey, createService } from '../../../src/api-client/client.ts';
import { backfillCalls } from '../../../src/completeness/coverage/backfill.ts';
import { createDatabase } from '../../../src/db/database.ts';
import { defaultReadPauses } from '../../../src/inbox/targets.ts';
import { createLog } from '../../../src/shared/log.ts';
import { firstAt, historyBegin, secondOf } from './calls.ts';

// A back-fill in a process of its own, which says how fast it was and what memory it had on the way.
const count = Number(process.argv[2]);
const log = createLog('warn');
const database = createDatabase({ url: process.env.DATABASE_URL ?? '', log, maxConnections: 4, name: 'backfill' });
const service = createService({ baseUrl: process.env.API_BASE_URL ?? '', credential: apiKey('bench-key'), log });
const megabyte = 1_024 ** 2;
const samples: { readonly mirrored: number; readonly residentMb: number }[] = [];

const began = performance.now();
const { mirrored, isFinished, unproven } = await backfillCalls(
  { db: database.db, service, pauses: defaultReadPauses, onAnswer: () => undefined },
  { range: { from: historyBegin, to: secondOf(count) }, withArtefacts: false },
  ({ mirrored: soFar }) => void samples.push({ mirrored: soFar, residentMb: process.memoryUsage.rss() / megabyte }),
  new AbortController().signal,
);
const seconds = (performance.now() - began) / 1_000;
if (!isFinished || unproven.length > 0 || firstAt(secondOf(count)) !== count)
  throw new Error(`not proven: ${JSON.stringify(unproven)}`);
const most = (from: number, to: number) =>
  Math.max(0, ...samples.filter((each) => each.mirrored >= from && each.mirrored <= to).map((each) => each.residentMb));
console.log(
  JSON.stringify({
    seconds,
    mirrored,
    earlyMb: most(mirrored * 0.1, mirrored * 0.3),
    lateMb: most(mirrored * 0.8, mirrored),
  }),
);
process.exit();
