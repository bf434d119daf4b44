import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const sizes = { 'webhook-secret': 24, 'encryption-key': 32 } as const;

/** A secret of a machine that was given none: made once, kept in the data folder, readable by its owner. */
export async function ownSecret(dataDir: string, name: 'webhook-secret' | 'encryption-key'): Promise<string> {
  const file = join(dataDir, name);
  await mkdir(dataDir, { recursive: true });
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (kept.trim() !== '') return kept.trim();
  const secret = randomBytes(sizes[name]).toString('hex');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  return secret;
}
