import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beginningOf } from './process.ts';

export interface Ownership {
  release(): Promise<void>;
}

export class FolderInUse extends Error {
  override readonly name = 'FolderInUse';
  readonly code = 'folder_in_use';
}

/**
 * Makes this process the only user of a data folder. A claim whose process was killed counts for nothing.
 * Throws `FolderInUse` while a living process (this one included) holds it.
 */
export async function claimFolder(folder: string): Promise<Ownership> {
  const file = join(folder, 'owner');
  const claim = `${process.pid} ${await beginningOf(process.pid)}\n`;
  while (!(await createFile(file, claim))) {
    const holder = await readFile(file, 'utf8').catch(() => undefined);
    if (holder === undefined) continue;
    const [pid, beginning] = holder.trim().split(' ', 2);
    // A process that is just writing its claim has an empty file for an instant; so has one that died in it.
    if (beginning !== undefined && (await beginningOf(Number(pid))) === holder.trim().slice(`${pid} `.length)) {
      throw new FolderInUse(
        `${folder} is in use by process ${pid}. Stop that process, or choose another folder with DATA_DIR.`,
      );
    }
    await rm(file, { force: true });
  }
  return { release: () => rm(file, { force: true }) };
}

async function createFile(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
