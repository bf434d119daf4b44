import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const sizes = { 'webhook-secret': 24, 'encryption-key': 32, 'admin-token': 24 } as const;

type SecretName = keyof typeof sizes;

/** A secret of a machine that was given none: made once, kept in the data folder, readable by its owner. */
export async function ownSecret(dataDir: string, name: SecretName): Promise<string> {
  const file = secretFile(dataDir, name);
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

/** Where such a secret is kept. */
export function secretFile(dataDir: string, name: SecretName): string {
  return join(dataDir, name);
}
