import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { sameNumbers } from '../../src/warehouse/phone-numbers.ts';
import { temporaryFolder } from '../at-end.ts';
import { migratedDatabase } from '../world/database.ts';
import { runInProcess } from './in-process.ts';

const database = await migratedDatabase();
const { query } = database;
const file = join(await temporaryFolder(), 'customers.csv');
beforeEach(() => query('truncate warehouse.contacts, ops.erasures'));

async function importing(content: string | Buffer, ...options: string[]) {
  await writeFile(file, content);
  return runInProcess({ DATABASE_URL: database.url }, 'contacts', 'import', file, ...options);
}
const stored = () =>
  query('select number, name, company, owner, language, tags from warehouse.contacts order by number');
const numbers = async () =>
  (await query<{ number: string }>('select number from warehouse.contacts order by 1')).map((each) => each.number);

describe('an import', () => {
  test('takes the columns in any case and order, quotes and line breaks, and leaves other columns out', async () => {
    const { code, out } = await importing(
      '\ufeffTAGS,Notes,Number,Name,Company,Owner,Language\r\n' +
        '"VIP, gold;vip",x,(212) 555-0123,"Pat\r\n""P."" Example","Lamps, Inc",Sam,es-MX\r\n' +
        '\r\n' +
        ',,+44 (0)20 7946 0958,Kim,,,\r\n',
    );
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^Imported 2 contacts: 2 new, 0 changed, 0 unchanged\.\nLeft out.*: notes\.\n$/),
    });
    expect(await stored()).toEqual([
      {
        ...{ number: '12125550123', name: 'Pat "P." Example', company: 'Lamps, Inc', owner: 'Sam' },
        ...{ language: 'es', tags: ['vip', 'gold'] },
      },
      { number: '442079460958', name: 'Kim', company: null, owner: null, language: null, tags: [] },
    ]);
  });

  test('of the same numbers again changes the columns of its file alone', async () => {
    await importing('number,name,tags\n12125550123,Pat,vip\n12125550124,Kim,vip\n');
    const { out } = await importing('number;tags\n12125550123;gold\n12125550124;vip\n', '--json');
    expect(JSON.parse(out)).toMatchObject({ added: 0, changed: 1, unchanged: 1, isDone: true });
    expect(await stored()).toMatchObject([
      { name: 'Pat', tags: ['gold'] },
      { name: 'Kim', tags: ['vip'] },
    ]);
  });

  test('lists what it refuses with line and reason, stores the rest, and exits 1', async () => {
    const rows = [
      'number,name,language',
      '12125550123,Good,en',
      '020 7946 0958,Which country,',
      'somebody,No number,',
      '2.12556E+09,A spreadsheet wrote it,',
      '0000000000,Nobody,',
      '+45 12 34 56 78,Ten digits,',
      '12125550124,Spanish,Spanish',
      '12125550125,One,en',
      '+1 212 555 0125,Two,en',
      '12125550125,One,en',
      '12125550126,Lamps, Inc,en,more',
      `12125550127,${'x'.repeat(201)},en`,
      '12125550128,"never closed,en',
      '12125550123,Good,en',
    ];
    const { code, out } = await importing(rows.join('\n'), '--json');
    expect(code).toBe(1);
    const { refused, ...counts } = JSON.parse(out);
    expect(counts).toMatchObject({ added: 1, changed: 0, unchanged: 0, removed: 0 });
    const told = refused.map(({ line, reason }: { line: number; reason: string }) => `${line}: ${reason}`);
    const reasons =
      '3: .*begins with 0|4: .*no phone number|5: |6: |7: .*ten digits|8: .*language|9: .*line 10 has other values';
    const more = '10: .*line 9 has other values|12: .*more cells|13: .*more than 200 characters|14: .*quote';
    expect(told).toEqual(`${reasons}|${more}`.split('|').map((each) => expect.stringMatching(`^${each}`)));
    expect(await numbers()).toEqual(['12125550123']);
    expect((await importing(rows.join('\n'))).out).toMatch(
      /11 rows refused:\nline +reason\n3 +no phone number: it begins with 0; write one with its country code/,
    );
  });

  test('of a file that is no such list says what it needs', async () => {
    for (const [content, words] of [
      ['phone,name\n1,x\n', 'the first line must name the columns'],
      ['number\n12125550123\n', 'one or more of name'],
      ['number,name,Name\n', 'each once'],
      [Buffer.from('number,name\n12125550123,M\xfcller\n', 'latin1'), 'not in UTF-8'],
    ] as const) {
      expect(await importing(content)).toMatchObject({ code: 2, err: expect.stringContaining(words) });
    }
    expect(await runInProcess({ DATABASE_URL: database.url }, 'contacts', 'import', '/nowhere.csv')).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be read'),
    });
  });

  test('with --replace removes the others after a yes, and none while rows are refused', async () => {
    await importing('number,name\n12125550123,Pat\n12125550124,Kim\n');
    const list = 'number,name\n12125550123,Pat\n';
    expect(await importing(list, '--replace')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    const preview = await importing(list, '--replace', '--dry-run', '--json');
    expect(JSON.parse(preview.out)).toMatchObject({ unchanged: 1, removed: 1, isDone: false });
    expect((await importing(`${list}0123,x\n`, '--replace', '--yes')).out).toContain('No contact is removed');
    expect(await numbers()).toEqual(['12125550123', '12125550124']);
    expect(await importing(list, '--replace', '--yes')).toMatchObject({ code: 0 });
    expect(await numbers()).toEqual(['12125550123']);
  });

  const rowsOf = (count: number) =>
    ['number,name,tags', ...Array.from({ length: count }, (_, at) => `1212${5_550_000 + at},Name ${at},vip`)].join(
      '\n',
    );

  test.each([
    ['a first line alone', 0],
    ['one row', 1],
    ['a part', 179],
  ])('of %s removes as many as --remove says, or changes nothing', async (_, left) => {
    await importing(rowsOf(200));
    const removed = 200 - left;
    for (const wrong of [[], ['--remove', String(removed - 1)]]) {
      expect(await importing(rowsOf(left), '--replace', '--yes', ...wrong)).toMatchObject({
        code: 2,
        err: expect.stringMatching(`lacks ${removed} of the 200 contacts.* --remove ${removed}`),
      });
    }
    expect(await numbers()).toHaveLength(200);
    const preview = await importing(rowsOf(left), '--replace', '--dry-run');
    expect(preview).toMatchObject({ code: 0, out: expect.stringContaining(`It needs --remove ${removed}.`) });
    expect(await importing(rowsOf(left), '--remove', '5')).toMatchObject({ code: 2 });
    const done = await importing(rowsOf(left), '--replace', '--yes', '--remove', String(removed));
    expect(done).toMatchObject({ code: 0 });
    expect(await numbers()).toHaveLength(left);
  });

  test('removes a tenth after a yes', async () => {
    await importing(rowsOf(200));
    expect(await importing(rowsOf(180), '--replace', '--yes')).toMatchObject({ code: 0 });
    expect(await numbers()).toHaveLength(180);
  });

  test('leaves a column as it is where no row has a value', async () => {
    await importing('number,name,tags\n12125550123,Pat,vip\n12125550124,Kim,vip\n');
    const { code, out } = await importing('number,name,tags\n12125550123,Patricia,\n12125550124,,\n12125550125,,\n');
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('no row has a value: tags.') });
    expect(await stored()).toMatchObject([
      { name: 'Patricia', tags: ['vip'] },
      { name: null, tags: ['vip'] },
      { name: null, tags: [] },
    ]);
    expect((await importing('number,name,tags\n12125550123,,\n')).out).toContain('0 new, 0 changed, 1 unchanged');
  });

  test('takes two forms of one number for one customer', async () => {
    await importing('number,name\n+52 1 55 1234 5678,Pat\n');
    const { out } = await importing('number,name\n+52 55 1234 5678,Patricia\n+54 11 15 2345-6789,Kim\n');
    expect(out).toContain('1 new, 1 changed');
    expect(await stored()).toMatchObject([
      { number: '525512345678', name: 'Patricia' },
      { number: '5491123456789', name: 'Kim' },
    ]);
    const forms =
      '525512345678 5215512345678 5491123456789 541123456789 5511987654321 551187654321 551134567890 12125550123';
    for (const form of forms.split(' ')) {
      expect(await database.value('select warehouse.contact_number($1)', form)).toBe(sameNumbers(form)[0]);
    }
    const twice = await importing('number,name\n5215512345678,One\n525512345678,Two\n');
    expect(twice).toMatchObject({ code: 1, out: expect.stringContaining('other values for this number') });
  });

  test('with --dry-run stores nothing', async () => {
    const { out } = await importing('number,name\n12125550123,Pat\n', '--dry-run');
    expect(out).toContain('This would import 1 contact: 1 new');
    expect(await numbers()).toEqual([]);
  });

  test('does not bring back who was erased, in any spelling', async () => {
    await query(`insert into ops.erasures (number_hash) select ops.erasure_hash('12125550199')`);
    const { code, out } = await importing('number,name\n212-555-0199,Zoe\n12125550123,Pat\n');
    expect(code).toBe(1);
    expect(out).toMatch(/2 +this person was erased/);
    expect(await stored()).toMatchObject([{ number: '12125550123', name: 'Pat' }]);
  });
});
