import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type Operation, oauthSteps, operations } from './operations.ts';

const path = '../../docs/api-coverage.md';

test('docs/api-coverage.md shows every operation', async () => {
  const page = await readFile(new URL(path, import.meta.url), 'utf8');
  const place = /(<!-- operations -->\n).*?(\n<!-- end -->)/s;
  expect(page).toMatch(place);
  // With -u, the page is written with the table as it should be.
  await expect(page.replace(place, (_, before, after) => before + table() + after)).toMatchFileSnapshot(path);
});

/** Every operation of the service, as the client's table declares it. */
function table(): string {
  const code = (text = '') => (text === '' ? '' : `\`${text}\``);
  const asked = Object.values<Operation>(operations).map(
    ({ route, section, scope, permission, client, isOnce, isBilled }) => {
      const repeats = isOnce ? `never${isBilled ? ', costs money' : ''}` : '';
      return [code(route), section, code(scope), permission, code(client), repeats];
    },
  );
  const steps = Object.values(oauthSteps).map((route) => [code(route), '5.3', '', '', '', '']);
  const columns = ['operation', 'section', 'scope', 'permission of an OAuth user', 'client', 'repeated'];
  return [columns, columns.map(() => '---'), ...asked, ...steps].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
