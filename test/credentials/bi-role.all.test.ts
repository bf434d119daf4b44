import { expect, test } from 'vitest';
import { databaseForTest } from '../stores/databases.ts';
import { openDatabase } from '../world/database.ts';
import { trunkline } from './commands.ts';

const databaseUrl = await databaseForTest();

test.each(['Bad Role"x', 'pg_reader', '', '1st'])(
  '`migrate --bi-role %j` is wrong use, and nothing is migrated',
  async (name) => {
    const command = trunkline({ DATABASE_URL: databaseUrl }, 'migrate', '--bi-role', name);
    expect(await command.ended).toBe(2);
    expect(command.out()).toBe('');
    expect(command.err()).toContain('lower-case letters');
    await using database = openDatabase(databaseUrl);
    expect(await database.value(`select to_regclass('ops.migrations')`)).toBeNull();
  },
);
