import type { Ring } from '../../inbox/target.ts';
import { priorities } from '../../inbox/target.ts';
import { ServiceError } from '../../service/client.ts';
import { inTransaction, retryDeadlock } from '../../warehouse/database.ts';
import { ourLines } from '../../warehouse/entities/directory/lines.ts';
import { claimGaps, closeGap, hasOpenCallGap } from '../coverage/gaps.ts';
import { addCallers, probe, rereadAlive, rereadNewest } from './candidates.ts';
import { rereadSettled } from './rereads.ts';
import { compareUnread, type UnreadParts } from './unread.ts';

/** Looks for texts that no webhook announced: it can be shown that one is missing, hardly ever that none is. */
export interface EvidenceRounds {
  /** Probes open candidates, rereads threads that have settled, and looks into gaps. */
  round(): Promise<void>;
  /** Compares the unread counts of all lines. */
  compareUnread(): Promise<void>;
}

/** Probes of one round: at one round a minute, some thousands an hour, behind everything else. */
const probesOfRound = 100;
const threadsOfGap = 50;
/** All others that were alive so lately are read after them, behind everything else, so many a time. */
const aliveDays = 90;
const restOfGap = 5_000;

export function createEvidenceRounds(parts: UnreadParts): EvidenceRounds {
  const { db, log, pauses, onRings } = parts;
  let isForbidden = false;

  async function lookIntoGaps(): Promise<void> {
    for (const gap of await retryDeadlock(() => claimGaps(db, 'texts'))) {
      const period = { from: new Date(gap.span.from * 1_000 - 86_400_000), to: new Date(gap.span.to * 1_000) };
      const added = await addCallers(db, period, { evidence: 'gap', cameBy: period.to });
      const rings: Ring[] = [];
      for (const line of await ourLines(db)) {
        const how = { priority: priorities.live, pauses };
        const reread = await inTransaction(db, (tx) => rereadNewest(tx, line, threadsOfGap, how));
        rings.push(...reread);
      }
      const rest = await inTransaction(db, (tx) => rereadAlive(tx, gap.span, { aliveDays, most: restOfGap, pauses }));
      onRings([...rings, ...rest.rings]);
      // Whoever called in it is a candidate too, and may not be known yet.
      if (rest.count === restOfGap || (await hasOpenCallGap(db, gap))) continue;
      await closeGap(db, gap);
      log.info({ added, reread: rest.count }, 'A gap in the announced texts is looked into');
    }
  }

  return {
    async round() {
      await lookIntoGaps();
      onRings(await retryDeadlock(() => rereadSettled(db, pauses)));
      onRings((await retryDeadlock(() => probe(db, probesOfRound, { pauses }))).rings);
    },
    async compareUnread() {
      try {
        await compareUnread(parts);
        isForbidden = false;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (!isForbidden) log.warn({ err: error }, 'Unread counts cannot be compared at present');
        isForbidden = true;
      }
    },
  };
}
