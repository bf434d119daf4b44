import type { Ring } from '../../inbox/target.ts';
import { priorities } from '../../inbox/target.ts';
import { ServiceError } from '../../service/client.ts';
import { query } from '../../warehouse/database.ts';
import { claimGaps, closeGap } from '../coverage/gaps.ts';
import { addCallers, probe, rereadNewest } from './candidates.ts';
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

export function createEvidenceRounds(parts: UnreadParts): EvidenceRounds {
  const { db, log, pauses, onRings } = parts;
  let isForbidden = false;

  async function lookIntoGaps(): Promise<void> {
    for (const gap of await claimGaps(db, 'texts')) {
      const period = { from: new Date(gap.span.from * 1_000 - 86_400_000), to: new Date(gap.span.to * 1_000) };
      const added = await addCallers(db, period, { evidence: 'gap' });
      const lines = await query<{ line: string }>(
        db,
        'select line from warehouse.sms_lines where deleted_at is null',
        [],
      );
      const rings: Ring[] = [];
      for (const { line } of lines) {
        const reread = await db
          .transaction()
          .execute((tx) => rereadNewest(tx, line, threadsOfGap, { priority: priorities.live, pauses }));
        rings.push(...reread);
      }
      onRings(rings);
      await closeGap(db, gap);
      log.info({ added, reread: lines.length * threadsOfGap }, 'A gap in the announced texts is looked into');
    }
  }

  return {
    async round() {
      await lookIntoGaps();
      onRings(await rereadSettled(db, pauses));
      onRings((await probe(db, probesOfRound, { pauses })).rings);
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
