import { existsSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { makeDataFolder } from '../../shared/data-folder.ts';
import type { Log } from '../../shared/log.ts';

/*
 * What is kept where a failover or a restored back-up of Postgres does not take it back: in Redis where there is one, else in
 * DATA_DIR. Every process has a copy in memory too, which alone is left where DATA_DIR does not outlive the process.
 */

/** The state of the database at the newest report, by which an older state is recognized. */
export type Mark = z.infer<typeof mark>;

const mark = z.object({
  incarnationId: z.string(),
  reportCount: z.coerce.number(),
  /** By the database's clock. */
  reportedAt: z.coerce.date(),
  /** An operator had paused all sends, for this reason. */
  pauseReason: z.string().nullable(),
  /** The newest version of the rules. */
  rulesVersion: z.number(),
});

/** A row of `ops.erasures`. */
export type ErasureRow = z.infer<typeof erasureRow>;

const erasureRow = z.object({ numberHash: z.string(), spellingHashes: z.array(z.string()) });

export interface KeptOutside {
  /** The newest mark of an incarnation, with the moment and the decisions of the newest of all. `isCopied`: its folder is a copy, and so may be the embedded database beside it. */
  readMark(incarnationId: string): Promise<(Mark & { readonly isCopied: boolean }) | undefined>;
  writeMark(mark: Mark): Promise<void>;
  addErasures(rows: readonly ErasureRow[]): Promise<void>;
  erasures(): Promise<ErasureRow[]>;
  close(): Promise<void>;
}

/** Undefined also for what another release wrote, or a full disk cut off: it is written again. */
function parsed<T>(schema: z.ZodType<T>, text: string | null | undefined): T | undefined {
  if (!text) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A back-up can be of an earlier incarnation than the last one, and then lacks what that one wrote too. */
function upToDate<Held extends Mark>(held: Held | undefined, newest: Mark | undefined): Held | undefined {
  if (!held || !newest || newest.reportedAt <= held.reportedAt) return held;
  const { reportedAt, pauseReason, rulesVersion } = newest;
  return { ...held, reportedAt, pauseReason, rulesVersion };
}

export async function keepInRedis(url: string, deploymentId: string): Promise<KeptOutside> {
  // Commands that report nothing start without it.
  const { connectRedis } = await import('../../queues/redis.ts');
  const redis = connectRedis(url, { maxRetriesPerRequest: 1, commandTimeout: 1_000 });
  const keyOf = (name: string) => `{trunkline-kept-${deploymentId}}:${name}`;
  // An earlier version kept accepted targets, which name people.
  await redis.del(keyOf('targets')).catch(() => undefined);
  const newestMark = keyOf('mark');
  return {
    async readMark(id) {
      const [own, newest] = await redis.mget(keyOf(`mark:${id}`), newestMark);
      const held = upToDate(parsed(mark, own), parsed(mark, newest));
      return held && { ...held, isCopied: false };
    },
    async writeMark(held) {
      const text = JSON.stringify(held);
      await redis.mset(keyOf(`mark:${held.incarnationId}`), text, newestMark, text);
    },
    addErasures: async (rows) =>
      void (await redis.hset(
        keyOf('erasures'),
        Object.fromEntries(rows.map((r) => [r.numberHash, JSON.stringify(r)])),
      )),
    erasures: async () =>
      Object.values(await redis.hgetall(keyOf('erasures'))).flatMap((text) => parsed(erasureRow, text) ?? []),
    close: async () => redis.disconnect(),
  };
}

/**
 * Where the database is embedded, DATA_DIR can be put back as a whole. A second folder, outside of it, then has the marks and
 * the erasures too. Neither names people, as the targets did that an earlier version kept.
 */
export async function keepInFolders(dataDir: string, deploymentId: string, log: Log): Promise<KeptOutside> {
  const first = keepInFolder(dataDir, deploymentId);
  await rm(join(dataDir, 'kept-outside', deploymentId, 'targets.log'), { force: true }).catch(() => undefined);
  if (!existsSync(join(dataDir, 'postgres'))) return first;
  const stateDir = join(process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'trunkline');
  try {
    await makeDataFolder(stateDir, 0o700);
  } catch (err) {
    log.info({ err, stateDir }, 'If DATA_DIR is put back to an older state, erasures of later are not known');
    return first;
  }
  const second = keepInFolder(stateDir, deploymentId);
  return {
    ...first,
    async readMark(id) {
      const [own, other] = await Promise.all([first.readMark(id), second.readMark(id)]);
      return other && other.reportCount > (own?.reportCount ?? 0)
        ? { ...other, isCopied: own?.isCopied ?? false }
        : own;
    },
    writeMark: async (held) => void (await Promise.all([first.writeMark(held), second.writeMark(held)])),
    addErasures: async (rows) => void (await Promise.all([first.addErasures(rows), second.addErasures(rows)])),
    erasures: async () => (await Promise.all([first.erasures(), second.erasures()])).flat(),
  };
}

export function keepInFolder(dataDir: string, deploymentId: string): KeptOutside {
  const folder = join(dataDir, 'kept-outside', deploymentId);
  const erasuresFile = join(folder, 'erasures.json');
  const newestMarkFile = join(folder, 'mark.json');
  const markFile = (id: string) => join(folder, `mark-${id}.json`);
  const read = (file: string) =>
    readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });

  async function replace(file: string, text: string): Promise<void> {
    await makeDataFolder(folder, 0o700);
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, file);
  }

  let created: number | undefined;
  /** When the folder was created, which no copy keeps; 0 where the file system does not know, and tells of the last change. */
  async function createdAt(): Promise<number> {
    await makeDataFolder(folder, 0o700);
    const { birthtimeMs } = await stat(folder);
    created ??= birthtimeMs;
    if (created !== birthtimeMs) created = 0;
    return created;
  }

  return {
    async readMark(id) {
      const own = parsed(mark.extend({ folderCreatedAt: z.number() }), await read(markFile(id)));
      const held = upToDate(own, parsed(mark, await read(newestMarkFile)));
      const times = [held?.folderCreatedAt, await createdAt()];
      return held && { ...held, isCopied: !times.includes(0) && times[0] !== times[1] };
    },
    async writeMark(held) {
      const text = JSON.stringify({ ...held, folderCreatedAt: await createdAt() });
      for (const file of [markFile(held.incarnationId), newestMarkFile]) await replace(file, text);
    },
    async addErasures(rows) {
      const all = new Map([...(await this.erasures()), ...rows].map((row) => [row.numberHash, row]));
      await replace(erasuresFile, JSON.stringify([...all.values()]));
    },
    erasures: async () => parsed(z.array(erasureRow), await read(erasuresFile)) ?? [],
    close: async () => undefined,
  };
}
