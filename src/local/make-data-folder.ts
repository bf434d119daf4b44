import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Creates a folder for secrets and content, which Git ignores: one `git add .` would publish them. An existing folder
 * gets its `.gitignore` too, unless it has one or is a repository itself. Resolves to the highest folder that was
 * created.
 */
export async function makeDataFolder(folder: string, mode?: number): Promise<string | undefined> {
  const created = await mkdir(folder, { recursive: true, ...(mode !== undefined && { mode }) });
  // A folder that can't be written fails where that matters.
  if (!existsSync(join(folder, '.git')))
    await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => undefined);
  return created;
}
