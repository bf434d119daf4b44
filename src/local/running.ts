import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { beginningOf } from './process.ts';

/** Where a running `trunkline start` keeps its parts: what other commands on this machine need to talk to them. */
export type Running = z.infer<typeof running>;

const running = z.object({
  databaseUrl: z.string(),
  redisUrl: z.string().optional(),
  /** Without a key where somebody logs in instead. */
  api: z.object({ baseUrl: z.string(), key: z.string().optional() }).optional(),
  /** The API is the sandbox that this `start` runs. */
  isSandbox: z.boolean(),
  webhookSecret: z.string(),
  encryptionKey: z.string().optional(),
  publicUrl: z.string().optional(),
  /** Where one was set. */
  timeZone: z.string().optional(),
  /** Absolute: other commands may run elsewhere. */
  rulesFile: z.string().optional(),
  rulesMode: z.string().optional(),
  statusUrl: z.string(),
});

const file = running.extend({ pid: z.number(), beginning: z.string() });

/** Leaves a note of what runs in the data folder, for its owner's eyes only; answers with how to take it away. */
export async function announceRunning(dataDir: string, what: Running): Promise<() => Promise<void>> {
  const path = noteIn(dataDir);
  const own = { ...what, pid: process.pid, beginning: (await beginningOf(process.pid)) ?? '' };
  // Moved in place, so that nobody reads half of it, nor an older file's permissions.
  const draft = `${path}.${process.pid}`;
  await mkdir(dataDir, { recursive: true });
  await rm(draft, { force: true });
  await writeFile(draft, `${JSON.stringify(own, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
  return async () => {
    const left = await readNote(path);
    if (left?.pid === own.pid && left.beginning === own.beginning) await rm(path, { force: true });
  };
}

/** What runs on this machine with a data folder, while its process lives. */
export async function findRunning(dataDir: string): Promise<Running | undefined> {
  const note = await readNote(noteIn(dataDir));
  return note && (await beginningOf(note.pid)) === note.beginning ? note : undefined;
}

function noteIn(dataDir: string): string {
  return join(dataDir, 'running.json');
}

async function readNote(path: string): Promise<z.infer<typeof file> | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text === '') return undefined;
  try {
    return file.parse(JSON.parse(text));
  } catch {
    // Another release wrote it, or a disk that was full.
    return undefined;
  }
}
