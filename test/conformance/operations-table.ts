import { cases } from './cases.ts';
import { clauses, sectionOf } from './clauses.ts';
import type { Operation } from './operation.ts';
import { oauthSteps, operations } from './operations.ts';

/** Every operation of the service, as the client's table declares it, and how many cases ask it. */
export function operationsTable(): string {
  const code = (text: string | null) => (text === null ? '' : `\`${text}\``);
  const asked = Object.entries<Operation>(operations).map(([id, row]) => {
    const repeats = row.isOnce ? `never${row.isBilled ? ', costs money' : ''}` : '';
    const { route, section, scope, permission = '', client } = row;
    return tableRow([code(route), section, code(scope), permission, code(client), repeats, countOf(id)]);
  });
  const steps = Object.entries(oauthSteps).map(([id, { section, route, client }]) =>
    tableRow([code(route), section, '', '', code(client), '', countOf(id)]),
  );
  const columns = ['operation', 'section', 'scope', 'permission of an OAuth user', 'client', 'repeated', 'cases'];
  return [tableRow(columns), `|${'---|'.repeat(columns.length)}`, ...asked, ...steps].join('\n');
}

/** How much of each section is covered. */
export function coverageTable(): string {
  const sections = Map.groupBy(Object.entries(clauses), ([id]) => (sectionOf(id).split('.')[0] ?? '') as string);
  const rows = [...sections].map(([section, held]) => {
    const ids = new Set(held.map(([id]) => id));
    const testing = cases.filter((each) => each.clauses.some((id) => ids.has(id)));
    const unseen = held.filter(([, clause]) => typeof clause !== 'string');
    const covered = held.filter(([id]) => testing.some((each) => each.clauses.some((one) => one === id)));
    return tableRow([
      `${section} ${titles[section] ?? ''}`,
      held.length,
      covered.length,
      unseen.length,
      testing.length,
    ]);
  });
  return [tableRow(['section', 'clauses', 'tested', 'not visible', 'cases']), '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

const titles: Record<string, string> = {
  2: 'Resources',
  3: 'States',
  4: 'Endpoints',
  5: 'Authentication',
  6: 'Events',
  7: 'Errors',
  8: 'Limits',
};

function countOf(id: string): number {
  return cases.filter((each) => each.operations.some((one) => one === id)).length;
}

function tableRow(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}
